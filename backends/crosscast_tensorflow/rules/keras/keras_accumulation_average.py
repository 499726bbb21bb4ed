"""CL702: Keras accumulation with its moving average of the weights."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.readers.python.library_calls import plain
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import FIT, accumulating
from crosscast_tensorflow.reading.keras_optimizers import is_given


def check(subject: Subject) -> Iterator[Finding]:
    """Find optimizers that accumulate and average."""
    program = subject.program
    for call in accumulating(program):
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


RULE = Rule(
    code="CL702",
    name="keras-accumulation-average",
    topic="keras",
    severity=Severity.WARNING,
    title="Keras accumulation with its own moving average",
    why="With `gradient_accumulation_steps=N` and `use_ema=True`, Keras updates the average "
    "after every micro-batch, N times per update, so the average spans only 1/N of the "
    "intended number of updates. Measured with Keras 3.15.1.",
    wrong=changed(FIT, ("AdamW(1e-3)", "AdamW(1e-3, gradient_accumulation_steps=4, use_ema=True)")),
    right=changed(FIT, ("AdamW(1e-3)", "AdamW(1e-3, use_ema=True)")),
    check=check,
    hints=("use_ema",),
    sources=("Keras 3.15.1, keras/src/optimizers/base_optimizer.py",),
)
