"""TensorFlow by hand: a whole window is one tf.function, the data lies in the graph."""

from __future__ import annotations

from collections import deque
from typing import Any

import keras
import tensorflow as tf

from contestants.lane import Lane
from contestants.task import Task


def keras_adamw(task: Task, model: keras.Model, **options: Any) -> keras.optimizers.AdamW:
    """Return Keras' own optimizer; biases and LayerNorm do not decay."""
    script = task.script
    (beta_1, beta_2) = script.BETAS
    optimizer = keras.optimizers.AdamW(
        weight_decay=script.WEIGHT_DECAY,
        beta_1=beta_1,
        beta_2=beta_2,
        epsilon=script.EPS,
        **options,
    )
    exempt = [v for v in model.trainable_variables if v.name in ("bias", "beta", "gamma")]
    optimizer.exclude_from_weight_decay(var_list=exempt)
    return optimizer


def train(task: Task, lane: Lane, jit_compile: bool = False) -> None:
    """Train for ever."""
    script = task.script
    model = task.model()
    scaled = task.half == "float16"
    # With a loss scale clipping is left to the optimizer, which sees unscaled gradients.
    clipnorm = script.MAX_NORM if scaled else None
    optimizer: Any = keras_adamw(
        task, model, learning_rate=script.LEARNING_RATE, global_clipnorm=clipnorm
    )
    if scaled:
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer, script.INIT_SCALE)
    variables = model.trainable_variables
    optimizer.build(variables)
    inputs = {name: tf.constant(array) for name, array in task.rows.items()}
    labels = inputs.pop("labels")
    shape = (task.accumulation, script.SETTINGS.micro_batch_size)

    @tf.function(input_signature=[tf.TensorSpec(shape, tf.int64)], jit_compile=jit_compile)
    def window_step(order: tf.Tensor) -> tf.Tensor:
        total, sums = tf.zeros(()), [tf.zeros(())] * len(variables)
        for rows in tf.unstack(order):
            micro = {name: tf.gather(tensor, rows) for name, tensor in inputs.items()}
            with tf.GradientTape() as tape:
                logits = tf.cast(model(**micro, training=True), tf.float32)
                answers = tf.gather(labels, rows)
                loss = tf.nn.sparse_softmax_cross_entropy_with_logits(answers, logits)
                loss = tf.reduce_mean(loss) / task.accumulation
                target = optimizer.scale_loss(loss) if scaled else loss
            gradients = tape.gradient(target, [v.value for v in variables])
            sums = [a + tf.convert_to_tensor(b) for a, b in zip(sums, gradients, strict=True)]
            total += loss
        if not scaled:
            sums, _ = tf.clip_by_global_norm(sums, script.MAX_NORM)
        optimizer.apply(sums, variables)
        return total

    losses: deque[tf.Tensor] = deque(maxlen=100)
    task.describe(lane, model, losses)
    for window, order in enumerate(task.order()):
        lane.next_window()
        optimizer.learning_rate = script.learning_rate(window)
        losses.append(window_step(order))
