"""Models of the user's in Keras 3: `python -m crosscast_tensorflow.inside.weights`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

# isort: split
from crosscast_parity.inside.own_model import Tensor, serve
from crosscast_parity.inside.tensor_rows import STATISTICS, parts_of
from crosscast_tensorflow.inside.layers import PACKAGES, TABLE


class TensorFlow:
    """What Keras does for `own_model`."""

    def feeds(self, rows: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Return rows as tensors."""
        return {name: tf.convert_to_tensor(array) for name, array in rows.items()}

    def call(self, model: Any, feeds: dict[str, Any]) -> Any:
        """Return what the model returns."""
        return model(feeds, training=False)

    def ordered(self, model: Any, compute: Callable[[], Any]) -> tuple[Any, list[str]]:
        """Return what a function returns, and the paths of the layers that it calls, in order."""
        called: list[Any] = []
        original = keras.layers.Layer.__call__

        @functools.wraps(original)
        def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
            called.append(layer)
            return original(layer, *args, **kwargs)

        keras.layers.Layer.__call__ = call
        try:
            outputs = compute()
        finally:
            keras.layers.Layer.__call__ = original
        return outputs, [str(getattr(layer, "path", None) or layer.name) for layer in called]

    def tensors(self, model: Any) -> list[Tensor]:
        """Return the weights; states of random generators are none."""
        owners = {
            id(variable): layer
            for layer in model._flatten_layers(include_self=True, recursive=True)
            for variable in (*layer._trainable_variables, *layer._non_trainable_variables)
        }
        trained = {id(variable) for variable in model.trainable_variables}
        found = []
        for variable in model.weights:
            layer = owners[id(variable)]
            own = [kind for kind in type(layer).__mro__ if kind.__module__.startswith(PACKAGES)]
            classes, shape = [kind.__name__ for kind in own], list(variable.shape)
            trainable = id(variable) in trained
            parts = parts_of(TABLE, classes, variable.name, shape, layer, trainable)
            statistics = any(part.role in STATISTICS for part in parts)
            found.append(
                Tensor(
                    handle=variable,
                    name=variable.path,
                    also=[],
                    shape=shape,
                    dtype=str(variable.dtype),
                    trainable=trainable,
                    buffer=not trainable and statistics,
                    layer=str(getattr(layer, "path", None) or layer.name),
                    kind=type(layer).__name__,
                    parts=parts,
                )
            )
        return found

    def assign(self, tensor: Tensor, array: np.ndarray) -> None:
        """Overwrite a variable."""
        tensor.handle.assign(array)

    def is_output(self, value: Any) -> bool:
        """Whether a value is a tensor of floating-point numbers."""
        return bool(tf.is_tensor(value) and value.dtype.is_floating)

    def array(self, value: Any) -> np.ndarray:
        """Return a tensor, a sparse gradient also, as a float32 array."""
        return np.asarray(tf.cast(tf.convert_to_tensor(value), tf.float32))

    def gradients(
        self,
        model: Any,
        compute: Callable[[], list[Any]],
        projections: list[np.ndarray],
        tensors: list[Tensor],
    ) -> tuple[list[Any], dict[str, np.ndarray]]:
        """Return outputs and gradients of their projections, also of frozen weights."""
        handles = [tensor.handle.value for tensor in tensors]
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            for handle in handles:
                tape.watch(handle)
            outputs = compute()
            pairs = zip(outputs, projections)  # noqa: B905
            total = sum(tf.reduce_sum(tf.cast(out, tf.float32) * by) for out, by in pairs)
        found = tape.gradient(total, handles)
        named = zip(tensors, found)  # noqa: B905
        return outputs, {t.name: self.array(g) for t, g in named if g is not None}

    def takes(self, model: Any) -> str:
        """Return the inputs of a functional model, or the arguments of `call`."""
        inputs = getattr(model, "_inputs_struct", None)
        if inputs is not None:
            return str(keras.tree.map_structure(lambda x: f"{x.dtype}{list(x.shape)}", inputs))
        return str(inspect.signature(type(model).call)).replace("(self, ", "(")


if __name__ == "__main__":
    serve(TensorFlow())
