"""TensorFlow's dropout with given masks: the functions that Keras and scripts call.

A script is traced once, so the graph asks NumPy for every mask while it runs. What it asks is put
in a chain: the graph would else be free to ask in another order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from crosscast_parity.inside.manifest import Patches
from crosscast_parity.inside.masks import Masks


class TracedDropout:
    """Stands in for the dropout of `tf.nn`, and for stateless uniform numbers in [0, 1)."""

    def __init__(self, masks: Masks) -> None:
        self._masks = masks
        self._micro: Any = None
        self._last: Any = None
        self._patches = Patches()
        for root in (tf, tf.compat.v2):  # tf_keras, the Keras 2 of newer releases, has the second
            self._replace(root.nn, "dropout", self._dropping)
            self._replace(root.nn.experimental, "stateless_dropout", self._stateless)
            self._replace(root.random, "stateless_uniform", self._uniform)

    def plain(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Keep AutoGraph from rewriting a function."""
        return tf.autograph.experimental.do_not_convert(function)  # type: ignore[no-any-return]

    def begin(self, model: Any) -> list[str]:
        """Return nothing: what Keras drops, it drops by the functions that are replaced."""
        return []

    def enter(self) -> None:
        """Count a micro-batch, in the graph."""
        self._micro = None
        if self._masks.active:
            self._micro = self._asked(self._counted, [], tf.int64)
            self._micro.set_shape(())

    def _counted(self) -> Any:
        return np.int64(self._masks.begin_micro_batch())

    def leave(self) -> None:
        """Do nothing."""

    def undo(self) -> None:
        """Put the functions back."""
        self._patches.undo()
        self._micro = self._last = None

    def _replace(self, owner: Any, name: str, wrapper: Callable[..., Any]) -> None:
        self._patches.replace(owner, name, self.plain(wrapper(getattr(owner, name))))

    def _asked(self, function: Callable[..., Any], inputs: list[Any], dtype: Any) -> Any:
        """Call a function of NumPy after what was asked before in the same graph."""
        follows = [self._last] if self._last is not None and _same_graph(self._last) else []
        with tf.control_dependencies(follows):
            self._last = tf.numpy_function(function, inputs, dtype)
        return self._last

    def _is_replacing(self) -> bool:
        return self._masks.active and self._micro is not None and _is_of_this_graph(self._micro)

    def _drawn(self, key: Any, shape: Any, rate: float | None) -> Any:
        site = self._masks.site(_name, rate)

        def draw(micro: Any, key: Any, shape: Any) -> Any:
            return self._masks.draw(int(micro), key.tobytes(), shape.tolist(), site)

        shape = tf.convert_to_tensor(shape, tf.int32)
        numbers = self._asked(draw, [self._micro, key, shape], tf.float32)
        return tf.reshape(numbers, shape)  # gives it what is known of the shape

    def _dropping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def dropout(
            x: Any, rate: Any, noise_shape: Any = None, seed: Any = None, name: Any = None
        ) -> Any:
            if not self._is_replacing() or not _drops(rate):
                return original(x, rate, noise_shape, seed, name)
            key = tf.random.uniform((2,), maxval=tf.int64.max, dtype=tf.int64, seed=seed)
            return self._dropped(x, float(rate), noise_shape, key)

        return dropout

    def _stateless(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def stateless_dropout(
            x: Any, rate: Any, seed: Any, *more: Any, noise_shape: Any = None, **kw: Any
        ) -> Any:
            if not self._is_replacing() or not _drops(rate):
                return original(x, rate, seed, *more, noise_shape=noise_shape, **kw)
            return self._dropped(x, float(rate), noise_shape, tf.convert_to_tensor(seed))

        return stateless_dropout

    def _uniform(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def stateless_uniform(
            shape: Any,
            seed: Any,
            minval: Any = 0,
            maxval: Any = None,
            dtype: Any = tf.float32,
            **kw: Any,
        ) -> Any:
            dtype = tf.as_dtype(dtype)
            plain = minval == 0 and maxval in (None, 1) and dtype == tf.float32
            if not self._is_replacing() or not plain:
                return original(shape, seed, minval, maxval, dtype, **kw)
            return self._drawn(tf.convert_to_tensor(seed), shape, None)

        return stateless_uniform

    def _dropped(self, x: Any, rate: float, noise_shape: Any, key: Any) -> Any:
        x = tf.convert_to_tensor(x)
        shape = tf.shape(x) if noise_shape is None else _filled(noise_shape, x)
        numbers = self._drawn(key, shape, rate)
        scale = tf.constant(np.float32(1.0 / (1.0 - rate)))
        mask = tf.where(numbers >= np.float32(rate), scale, tf.zeros_like(scale))
        # Not operators: whoever watches the script's own would see them.
        wide = tf.raw_ops.Cast(x=x, DstT=tf.float32) if x.dtype != tf.float32 else x
        result = tf.raw_ops.Mul(x=wide, y=mask)
        return tf.raw_ops.Cast(x=result, DstT=x.dtype) if x.dtype != tf.float32 else result


def _drops(rate: Any) -> bool:
    return isinstance(rate, (int, float)) and 0 < rate < 1 and math.isfinite(rate)


def _filled(noise_shape: Any, x: Any) -> Any:
    """Return a shape for noise, with that of the tensor where it is left open."""
    sizes = list(noise_shape) if isinstance(noise_shape, (list, tuple)) else noise_shape
    if not isinstance(sizes, list):
        return sizes
    return tf.stack([tf.shape(x)[i] if size is None else size for i, size in enumerate(sizes)])


def _graph() -> Any:
    return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()


def _same_graph(tensor: Any) -> bool:
    graph = _graph()
    return graph is not None and getattr(tensor, "graph", None) is graph


def _is_of_this_graph(tensor: Any) -> bool:
    """Whether a tensor can be used here: it is a value, or of this graph or one around it."""
    graph = _graph()
    if not isinstance(tensor, tf.Tensor) or hasattr(tensor, "numpy"):
        return True
    while graph is not None and graph is not tensor.graph:
        graph = getattr(graph, "outer_graph", None)
    return graph is not None


def _name(owner: Any) -> str:
    name = getattr(owner, "path", None) or getattr(owner, "name", None)
    return name if isinstance(name, str) and hasattr(owner, "call") else ""


def make_dropout(masks: Masks) -> TracedDropout:
    """Return the replacement of dropout in a run."""
    return TracedDropout(masks)
