"""The user's models in Keras 3: `python -m crosscast_tensorflow.inside.weights`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

# isort: split
from crosscast_parity.inside.module_calls import Calls
from crosscast_parity.inside.own_model import Tensor, serve
from crosscast_parity.inside.tensor_rows import STATISTICS, own_classes, parts_of
from crosscast_tensorflow.inside.dropout import switch_off
from crosscast_tensorflow.inside.layers import PACKAGES, TABLE


class TensorFlow:
    """What Keras does for `own_model`."""

    def seed(self, number: int) -> None:
        """Seed the generator that draws weights."""
        keras.utils.set_random_seed(number)

    def build(self, factory: Callable[[], Any]) -> Any:
        """Return the model of a factory."""
        return factory()

    def feeds(self, rows: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Return rows as tensors."""
        return {name: tf.convert_to_tensor(array) for name, array in rows.items()}

    def evaluate(self, model: Any) -> None:
        """Do nothing: a call of a Keras model evaluates by default."""

    def call(self, model: Any, feeds: dict[str, Any]) -> Any:
        """Return the outputs of the model."""
        return model(feeds, training=False)

    def train(self, model: Any, feeds: dict[str, Any], loss: Any) -> Any:
        """Return the result of the model, or of the loss function, in training without dropout."""
        switch_off(model)
        return loss(model, feeds, training=True) if loss else model(feeds, training=True)

    @contextmanager
    def watched(self, model: Any, calls: Calls) -> Iterator[None]:
        """Tell `calls` of every call of a layer."""
        original = keras.layers.Layer.__call__

        @functools.wraps(original)
        def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
            number = calls.enter(_path(layer), layer)
            returned = original(layer, *args, **kwargs)
            calls.leave(number, layer, (args, kwargs), returned)
            return returned

        keras.layers.Layer.__call__ = call
        try:
            yield
        finally:
            keras.layers.Layer.__call__ = original

    def tensors(self, model: Any) -> list[Tensor]:
        """Return the weights; states of random generators are none."""
        owners = {
            id(variable): layer
            for layer in model._flatten_layers(include_self=True, recursive=True)
            for variable in (*layer._trainable_variables, *layer._non_trainable_variables)
        }
        trained = {id(variable) for variable in model.trainable_variables}
        tensors = []
        for variable in model.weights:
            layer = owners[id(variable)]
            classes, shape = own_classes(layer, PACKAGES), list(variable.shape)
            trainable = id(variable) in trained
            parts = parts_of(TABLE, classes, variable.name, shape, layer, trainable)
            statistics = any(part.role in STATISTICS for part in parts)
            tensors.append(
                Tensor(
                    handle=variable,
                    name=variable.path,
                    also=[],
                    shape=shape,
                    dtype=str(variable.dtype),
                    trainable=trainable,
                    buffer=not trainable and statistics,
                    layer=_path(layer),
                    kind=type(layer).__name__,
                    base=classes[0],
                    parts=parts,
                )
            )
        return tensors

    def assign(self, tensor: Tensor, array: np.ndarray) -> None:
        """Overwrite a variable."""
        tensor.handle.assign(array)

    def is_output(self, value: Any) -> bool:
        """Whether a value is a tensor of floating-point numbers."""
        return bool(tf.is_tensor(value) and value.dtype.is_floating)

    def array(self, value: Any) -> np.ndarray:
        """Return a tensor, a sparse gradient also, as a float32 array."""
        return np.asarray(tf.cast(tf.convert_to_tensor(value), tf.float32))

    def version(self, value: Any) -> int:
        """Return 0: a tensor never changes."""
        return 0

    def base(self, layer: Any) -> str:
        """Return the name of the class of Keras that a layer is."""
        return own_classes(layer, PACKAGES)[0]

    def gradients(
        self,
        model: Any,
        compute: Callable[[], list[Any]],
        projections: list[np.ndarray],
        tensors: list[Tensor],
        inner: list[Any],
    ) -> tuple[list[Any], dict[str, np.ndarray], list[Any]]:
        """Return outputs and gradients of their projections, also of frozen weights, and those of
        the values in `inner`."""
        handles = [tensor.handle.value for tensor in tensors]
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            for handle in handles:
                tape.watch(handle)
            outputs = compute()
            pairs = zip(outputs, projections)  # noqa: B905
            total = sum(tf.reduce_sum(tf.cast(out, tf.float32) * by) for out, by in pairs)
        computed = tape.gradient(total, [*handles, *inner])
        named = zip(tensors, computed)  # noqa: B905
        gradients = {t.name: self.array(g) for t, g in named if g is not None}
        return outputs, gradients, computed[len(handles) :]

    def takes(self, model: Any) -> str:
        """Return the inputs of a functional model, or the arguments of `call`."""
        inputs = getattr(model, "_inputs_struct", None)
        if inputs is not None:
            return str(keras.tree.map_structure(lambda x: f"{x.dtype}{list(x.shape)}", inputs))
        return str(inspect.signature(type(model).call)).replace("(self, ", "(")


def _path(layer: Any) -> str:
    return str(getattr(layer, "path", None) or layer.name)


if __name__ == "__main__":
    serve(TensorFlow())
