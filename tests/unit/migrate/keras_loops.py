"""Loops of Keras 2 that scale by hand."""

from __future__ import annotations

from crosscast_tensorflow.migration.experimental.keras import added_code

HEAD = """\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
model = tf.keras.Sequential([tf.keras.layers.Dense(2, dtype="float32")])
"""
MADE = "opt = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1))\n"
STEP = """\
@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
        scaled = opt.get_scaled_loss(loss)  # times the scale
    scaled_grads = tape.gradient(scaled, model.trainable_variables)
    grads = opt.get_unscaled_gradients(scaled_grads)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    return loss
"""
NEW = """\
@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
        scaled = opt.scale_loss(loss)  # times the scale
    scaled_grads = tape.gradient(scaled, model.trainable_variables)
    opt.apply_gradients(zip(scaled_grads, model.trainable_variables))
    return loss
"""
UNSCALE = "    grads = opt.get_unscaled_gradients(scaled_grads)\n"
APPLY = "    opt.apply_gradients(zip(grads, model.trainable_variables))\n"


def loop(step: str = STEP, made: str = MADE) -> str:
    return HEAD + made + step


def changed(old: str, new: str) -> str:
    assert old in STEP
    return loop(STEP.replace(old, new))


def carried(text: str) -> str:
    """The loop with its unscaled gradients, which are scaled again where they are applied."""
    made = "\n\n".join(added_code.TEXTS[n] for n in (added_code.UNSCALED, added_code.SCALED))
    return (
        text.replace("import tensorflow as tf\n\n", f"import tensorflow as tf\n\n\n{made}\n")
        .replace("opt.get_scaled_loss", "opt.scale_loss")
        .replace("opt.get_unscaled_gradients(", "divide_by_loss_scale(opt, ")
        .replace("(zip(grads, ", "(zip(multiply_by_loss_scale(opt, grads), ")
    )
