"""CL903: the graph rewrite under a name that was removed from TensorFlow 2."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.outdated_apis import older, spans, used
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject

_GONE = "tensorflow.train.experimental.enable_mixed_precision_graph_rewrite"


def check(subject: Subject) -> Iterator[Finding]:
    """Find calls of the removed name."""
    for module, _, places in used(subject, lambda name: name == _GONE):
        if subject.program and older(subject.program, "tensorflow", "2.10"):
            return
        yield Finding(
            span=module.span(places[0]),
            message="tf.train.experimental.enable_mixed_precision_graph_rewrite was removed: the "
            "call raises AttributeError",
            hint="set the policy instead: "
            'tf.keras.mixed_precision.set_global_policy("mixed_float16"); for optimizers of '
            "tf.compat.v1 there is tf.compat.v1.mixed_precision",
            related=spans(module, places),
        )


RULE = Rule(
    code="CL903",
    name="tf-graph-rewrite",
    topic="outdated",
    severity=Severity.NOTE,
    title="tf.train.experimental.enable_mixed_precision_graph_rewrite was removed",
    why="TensorFlow 2.5 has this function, 2.10 and later do not. `tf.compat.v1.mixed_precision` "
    "still has a function of the same name; it accepts optimizers of `tf.compat.v1.train` "
    "and raises ValueError for those of Keras 3.",
    wrong="""\
import tensorflow as tf

optimizer = tf.keras.optimizers.Adam(1e-3)
optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
model.compile(optimizer, loss="mse")
model.fit(inputs, targets)
""",
    right="""\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
optimizer = tf.keras.optimizers.Adam(1e-3)
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(64), tf.keras.layers.Dense(2, dtype="float32")]
)
model.compile(optimizer, loss="mse")
model.fit(inputs, targets)
""",
    check=check,
    hints=("enable_mixed_precision_graph_rewrite",),
    sources=("names of TensorFlow 2.5.3, 2.10.1, 2.15.1 and 2.21.0",),
    needs_training=False,
)
