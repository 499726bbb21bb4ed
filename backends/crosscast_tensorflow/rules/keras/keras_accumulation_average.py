"""CL702: Keras accumulation with its moving average of the weights."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.library_calls import plain
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import accumulating
from crosscast_tensorflow.reading.keras_optimizers import is_given


def check(subject: Subject) -> Iterator[Finding]:
    """Find optimizers that accumulate and average."""
    for call in accumulating(subject.program):
        if plain(is_given(call, "use_ema")) is True:
            node = call.bound()["use_ema"]
            place = call.module.owner_of(node)
            yield Finding(
                span=place.span(node),
                message="the average of the weights is updated after every micro-batch instead of "
                "once per update",
                hint="average in a callback, or use the N-th root of ema_momentum",
                related=(call.module.span(call.node),),
            )


RULE = Rule("CL702", check, hints=("use_ema",))
