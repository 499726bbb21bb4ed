"""One micro-batch of an emitted Keras model; see `run_recomputation`."""

from __future__ import annotations

import os
from typing import Any

# The only CPU allocator that counts whatever the processor is; read when it is made.
os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"

import numpy as np
import tensorflow as tf

from frameworks.run_model_tensorflow import inputs

METHOD = "call"


def train(
    model: Any, parameters: dict[str, Any], batch: Any, dtype: str, calls: list[str]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """In a graph, as training does; calls are those that were traced, `kept` the peak's growth."""
    variables = [parameter.value for parameter in parameters.values()]
    before: list[int] = []

    def step(labels: Any, *tensors: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = tf.cast(model(*tensors, training=True), tf.float32)
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_mean(loss)
        before.append(len(calls))
        gradients = tape.gradient(loss, variables)
        return loss, [tf.convert_to_tensor(gradient) for gradient in gradients]

    # For batches of any shape, as in training; traced and run once before memory is looked at.
    shapes = [tf.TensorSpec([None], tf.int32), *[tf.TensorSpec([None, None], tf.int32)] * 3]
    compiled = tf.function(step, input_signature=shapes)
    tensors, labels = inputs(batch), tf.constant(batch["labels"])
    compiled(labels[:2], *(tensor[:2, :5] for tensor in tensors))
    counted = [before[0], len(calls) - before[0]]
    model.seed.assign([5, 0])
    start = allocated("current")
    tf.config.experimental.reset_memory_stats("CPU:0")
    loss, gradients = compiled(labels, *tensors)
    kept = allocated("peak") - start
    found = {"loss": float(loss), "kept": kept, "calls": counted}
    arrays = [gradient.numpy() for gradient in gradients]
    return found, dict(zip(parameters, arrays, strict=True))


def allocated(what: str) -> int:
    return int(tf.config.experimental.get_memory_info("CPU:0")[what])
