"""Runs emitted Keras models; see `model_job`."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from frameworks.model_job import HALVES, Arrays, run

POLICIES = {"float32": "float32", **{half: f"mixed_{half}" for half in HALVES}}
FUNCTIONS = ((tf, "matmul"), (tf.nn, "softmax"), (tf.nn, "gelu"), (tf, "tanh"))


class TensorFlow:
    name = "tensorflow"
    halves: tuple[str, ...] = HALVES
    typed: tuple[str, ...] = HALVES
    traced: tuple[Any, Any] = (None, None)
    """The last model in float32, and its compiled step."""

    def seed(self, number: int) -> None:
        keras.utils.set_random_seed(number)

    def build(self, module: ModuleType, dtype: str) -> Any:
        keras.mixed_precision.set_global_policy(POLICIES[dtype])
        return module.build_model()

    def read(self, parameter: Any) -> np.ndarray:
        array: np.ndarray = parameter.numpy()
        return array

    def write(self, parameter: Any, array: np.ndarray) -> None:
        parameter.assign(array)

    def logits(self, model: Any, batch: Arrays, *, training: bool) -> np.ndarray:
        return np.array(model(*inputs(batch), training=training))

    def gradients(
        self, model: Any, parameters: dict[str, Any], batch: Arrays, dtype: str
    ) -> tuple[np.ndarray, float, Arrays]:
        variables = [parameter.value for parameter in parameters.values()]

        def step(*tensors: Any) -> Any:
            with tf.GradientTape() as tape:
                logits = tf.cast(model(*tensors, training=False), tf.float32)
                labels = batch["labels"]
                loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
                loss = tf.reduce_mean(loss)
            gradients = tape.gradient(loss, variables)
            return logits, loss, [tf.convert_to_tensor(gradient) for gradient in gradients]

        # A graph for batches of any shape, as in training. Halves run without: tracing is slow.
        run_step: Any = step
        if dtype == "float32":
            shapes = [tf.TensorSpec([None, None], tf.int32)] * 3
            if self.traced[0] is not model:
                self.traced = model, tf.function(step, input_signature=shapes)
            run_step = self.traced[1]
        logits, loss, gradients = run_step(*inputs(batch))
        arrays = [gradient.numpy() for gradient in gradients]
        return logits.numpy(), float(loss), dict(zip(parameters, arrays, strict=True))

    def types(self, model: Any, batch: Arrays, dtype: str) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for layer in model._flatten_layers(include_self=False):
            layer.call = recorded(layer.call, type(layer).__name__, found)
        for layer in model.encoder:
            layer.call = recorded_input(layer.call, "stream", found)
        with recorded_functions(found):
            model(*inputs(batch))
        return found


def inputs(batch: Arrays) -> list[Any]:
    return [tf.constant(batch[name]) for name in ("input_ids", "attention_mask", "token_type_ids")]


def recorded(function: Callable[..., Any], name: str, found: dict[str, set[str]]) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        found[name].add(result.dtype.name)
        return result

    return call


def recorded_input(function: Callable[..., Any], name: str, found: dict[str, set[str]]) -> Any:
    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        found[name].add(x.dtype.name)
        return function(x, *args, **kwargs)

    return call


@contextmanager
def recorded_functions(found: dict[str, set[str]]) -> Iterator[None]:
    originals = [getattr(module, name) for module, name in FUNCTIONS]
    try:
        for (module, name), function in zip(FUNCTIONS, originals, strict=True):
            setattr(module, name, recorded(function, name, found))
        yield
    finally:
        for (module, name), function in zip(FUNCTIONS, originals, strict=True):
            setattr(module, name, function)


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    run(TensorFlow(), Path(sys.argv[1]))
