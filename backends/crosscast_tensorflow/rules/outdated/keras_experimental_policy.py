"""CL905: the experimental interface of Keras's mixed precision."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.outdated_apis import older, spans, used
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject

_PARTS = ("tensorflow.keras.mixed_precision.experimental.", "keras.mixed_precision.experimental.")


def check(subject: Subject) -> Iterator[Finding]:
    """Find calls in the experimental namespace, with one finding per module."""
    seen: set[str] = set()
    for module, name, places in used(subject, lambda name: name.startswith(_PARTS)):
        if subject.program and older(subject.program, "tensorflow", "2.10"):
            return
        if module.source.name in seen:
            continue
        seen.add(module.source.name)
        last = name.rpartition(".")[2]
        hint = "use tf.keras.mixed_precision.set_global_policy"
        if last == "Policy" or last == "LossScaleOptimizer":
            hint = f"use tf.keras.mixed_precision.{last}; the loss scale is given to "
            hint += "LossScaleOptimizer, no longer to the policy"
        yield Finding(
            span=module.span(places[0]),
            message="tf.keras.mixed_precision.experimental was removed: using it raises "
            "AttributeError",
            hint=hint,
            related=spans(module, places),
        )


RULE = Rule("CL905", check, hints=("experimental",), needs_training=False)
