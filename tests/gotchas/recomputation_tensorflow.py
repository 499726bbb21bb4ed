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

    def step(*tensors: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = tf.cast(model(*tensors, training=True), tf.float32)
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_mean(loss)
        before.append(len(calls))
        gradients = tape.gradient(loss, variables)
        return loss, [tf.convert_to_tensor(gradient) for gradient in gradients]

    compiled = tf.function(step, reduce_retracing=True)
    tensors, labels = inputs(batch), tf.constant(batch["labels"])
    for rows in (1, 2):  # traced for batches of any shape, before memory is looked at
        compiled(*(tensor[:rows, : rows + 3] for tensor in tensors), labels=labels[:rows])
    calls.clear()
    model.seed.assign([5, 0])
    start = allocated("current")
    tf.config.experimental.reset_memory_stats("CPU:0")
    before.clear()
    loss, gradients = compiled(*tensors, labels=labels)
    kept = allocated("peak") - start
    calls.clear()
    tf.function(step).get_concrete_function(*tensors, labels=labels)  # to count, not to run
    counted = [before[-1], len(calls) - before[-1]]
    found = {"loss": float(loss), "kept": kept, "calls": counted}
    arrays = [gradient.numpy() for gradient in gradients]
    return found, dict(zip(parameters, arrays, strict=True))


def allocated(what: str) -> int:
    return int(tf.config.experimental.get_memory_info("CPU:0")[what])
