"""CL905: the experimental interface of Keras's mixed precision."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
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


RULE = Rule(
    code="CL905",
    name="keras-experimental-policy",
    topic="outdated",
    severity=Severity.NOTE,
    title="tf.keras.mixed_precision.experimental was removed",
    why="TensorFlow 2.5 has this module; TensorFlow 2.10 and later and Keras 3 do not. In the "
    "stable API the policy has no `loss_scale`: with `mixed_float16`, `compile` wraps the "
    "optimizer in a LossScaleOptimizer, and custom loops must do so themselves.",
    wrong="""\
import tensorflow as tf

policy = tf.keras.mixed_precision.experimental.Policy("mixed_float16")
tf.keras.mixed_precision.experimental.set_policy(policy)
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(64), tf.keras.layers.Dense(2, dtype="float32")]
)
model.compile(tf.keras.optimizers.Adam(1e-3), loss="mse")
model.fit(inputs, targets)
""",
    right="""\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(64), tf.keras.layers.Dense(2, dtype="float32")]
)
model.compile(tf.keras.optimizers.Adam(1e-3), loss="mse")
model.fit(inputs, targets)
""",
    check=check,
    hints=("experimental",),
    sources=("names of TensorFlow 2.5.3, 2.10.1, 2.15.1 and 2.21.0",),
    needs_training=False,
)
