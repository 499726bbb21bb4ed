"""CL701: Keras accumulation with a learning rate schedule."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.pysource.values.value import Instance
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import FIT, accumulating


def check(subject: Subject) -> Iterator[Finding]:
    """Find optimizers that accumulate and have a schedule."""
    program = subject.program
    for call in accumulating(program):
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


_STEPS = (
    "keras.optimizers.AdamW(1e-3)",
    "keras.optimizers.AdamW(rate, gradient_accumulation_steps=4)",
)

RULE = Rule(
    code="CL701",
    name="keras-accumulation-schedule",
    topic="keras",
    severity=Severity.WARNING,
    title="Keras accumulation with a schedule",
    why="With `gradient_accumulation_steps=N`, Keras 3 evaluates the schedule at micro-batch "
    "N(k+1)-1 for update k, so the learning rate decays N times too fast. Measured with eight "
    "releases from 3.1.1 to 3.15.1. Since 3.5.0 `optimizer.iterations` counts updates, but the "
    "schedule is not asked for it. If the lengths of your schedule count micro-batches, ignore "
    "this rule.",
    wrong=changed(
        FIT,
        _STEPS,
        (
            "model.compile",
            "rate = keras.optimizers.schedules.CosineDecay(1e-3, 1000)\nmodel.compile",
        ),
    ),
    right=changed(FIT, ("AdamW(1e-3)", "AdamW(1e-3, gradient_accumulation_steps=4)")),
    check=check,
    hints=("gradient_accumulation_steps",),
    sources=("Keras 3.4.1, 3.5.0 and 3.15.1, keras/src/optimizers/base_optimizer.py",),
)
