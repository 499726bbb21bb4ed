"""CL719: graphs are rewritten to float16, but the training step is none."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import program_of
from crosscast_tensorflow.reading.eager_steps import eager_tape
from crosscast_tensorflow.reading.rewrite import rewrites_by_call


def check(subject: Subject) -> Iterator[Finding]:
    """Find rewrites in programs whose tapes all run in a plain loop."""
    program = program_of(subject)
    rewrites = list(rewrites_by_call(program)) if program is not None else []
    tape = eager_tape(program) if program is not None and rewrites else None
    for cast in rewrites if tape is not None else ():
        assert tape is not None
        yield Finding(
            span=cast.module.span(cast.node),
            message="only graphs are rewritten to float16, but the training step is no "
            "tf.function: it runs in float32",
            hint="decorate the training step with @tf.function",
            related=(tape.module.span(tape.node),),
        )


_RIGHT = """\
import tensorflow as tf

tf.config.optimizer.set_experimental_options({"auto_mixed_precision": True})
model = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(2)])
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(1e-3))


@tf.function
def train_step(inputs, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(inputs, training=True) - targets))
        scaled = optimizer.get_scaled_loss(loss)
    gradients = tape.gradient(scaled, model.trainable_variables)
    gradients = optimizer.get_unscaled_gradients(gradients)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for inputs, targets in dataset:
    train_step(inputs, targets)
"""

RULE = Rule(
    code="CL719",
    name="tf-rewrite-eager",
    topic="keras",
    severity=Severity.WARNING,
    title="The graph rewrite without a graph",
    why="`auto_mixed_precision` and `enable_mixed_precision_graph_rewrite` change graphs before "
    "they run. A training step that is neither a `tf.function` nor part of `fit` executes its "
    "operations one by one, in float32: only the loss scale is left of mixed precision.",
    wrong=changed(_RIGHT, ("@tf.function\n", "")),
    right=_RIGHT,
    check=check,
    hints=("auto_mixed_precision", "enable_mixed_precision_graph_rewrite"),
    sources=("TensorFlow 2.15, core/grappler/optimizers/auto_mixed_precision.cc",),
)
