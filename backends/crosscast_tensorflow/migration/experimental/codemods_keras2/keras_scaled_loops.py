"""CM202: loops with get_scaled_loss and get_unscaled_gradients to Keras 3."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras.scaled_loops import scaled_loops
from crosscast_tensorflow.migration.experimental.keras_names.scope import stays_as_it_is

_NOTE = (
    "the loss scale of Keras 3 has no minimum (Keras 2: 1), becomes inf if it grows "
    "beyond float32, and does not count a skipped step in optimizer.iterations, nor in the schedule"
)
_MESSAGE = (
    "the loss scaling of Keras 3: scale_loss scales; apply_gradients unscales, checks for overflow "
    "and skips"
)


def run(subject: Subject) -> Iterator[Outcome]:
    """Change all loops of a program together, or none."""
    program = subject.program
    if stays_as_it_is(program):
        return
    loops = scaled_loops(program)
    refusals = [refusal for loop in loops for refusal in loop.refusals]
    if refusals:
        yield from dict.fromkeys(refusals)
    elif loops:
        first = loops[0].first
        yield Change(
            span=first.module.span(first.node),
            message=_MESSAGE,
            edits=tuple(dict.fromkeys(edit for loop in loops for edit in loop.edits)),
            note=_NOTE,
        )


_LOOP = """\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(64), tf.keras.layers.Dense(2, dtype="float32")]
)
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
_UNSCALED = "    gradients = optimizer.get_unscaled_gradients(gradients)\n"
_NEW = _LOOP.replace("get_scaled_loss", "scale_loss").replace(_UNSCALED, "")
_LOGGED = _LOOP.replace(_UNSCALED, f"{_UNSCALED}    norm = tf.linalg.global_norm(gradients)\n")
_MORE = _LOOP.replace("model.trainable_variables))", "model.trainable_variables), *more)")

CODEMOD = Codemod(
    code="CM202",
    name="keras-scaled-loops",
    api="keras3",
    title="get_scaled_loss and get_unscaled_gradients become scale_loss and apply_gradients of "
    "Keras 3, where the gradients go from the tape to apply_gradients",
    hints=("get_scaled_loss", "get_unscaled_gradients"),
    examples=(
        Example(before=_LOOP, after=_NEW),
        Example(before=_NEW, after=_NEW),
        Example(before=_LOGGED, after=_LOGGED, refused="used for more than apply_gradients"),
        Example(before=_MORE, after=_MORE, refused="has other arguments"),
    ),
    run=run,
    scope="connected",
)
