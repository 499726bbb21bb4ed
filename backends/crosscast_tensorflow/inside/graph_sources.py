"""Which tensors of a graph are computed from weights."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


class Sources:
    """Follows operations of a graph back to the variables that they read."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], bool] = {}

    def learned(self, value: Any) -> bool | None:
        """Whether the numbers of a value depend on weights; None for a tensor without a graph."""
        if hasattr(value, "trainable"):  # a variable of TensorFlow or Keras
            return bool(value.trainable)
        if tf.is_symbolic_tensor(value):
            return self._reads(value.op)
        return None if tf.is_tensor(value) else False

    def _reads(self, last: Any) -> bool:
        seen, waiting = set(), [last]
        while waiting:
            operation = waiting.pop()
            key = id(operation.graph), operation.name
            known = self._known.get(key)
            if known or any(source.dtype == tf.resource for source in operation.inputs):
                self._known[id(last.graph), last.name] = True
                return True
            if known is None and key not in seen:
                seen.add(key)
                waiting += [source.op for source in operation.inputs]
        self._known |= dict.fromkeys(seen, False)
        return False
