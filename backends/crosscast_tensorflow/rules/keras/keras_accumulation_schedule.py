"""CL701: Keras accumulation with a learning rate schedule."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.values.value import Instance
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import accumulating


def check(subject: Subject) -> Iterator[Finding]:
    """Find optimizers that accumulate and have a schedule."""
    for call in accumulating(subject.program):
        rate = call.argument("learning_rate")
        if not isinstance(rate, Instance):
            continue
        made = canonical(rate.made_by)
        if not made.startswith("keras.optimizers.schedules."):
            continue
        node = call.bound()["gradient_accumulation_steps"]
        place = call.module.owner_of(node)
        yield Finding(
            span=place.span(node),
            message="the schedule counts micro-batches, not updates, so the learning rate decays "
            "too fast",
            hint="specify the length of the schedule in micro-batches, or divide its step by the "
            "number of accumulation steps",
            related=(call.module.span(call.node),),
        )


RULE = Rule("CL701", check, hints=("gradient_accumulation_steps",))
