"""Rows that a script picks from a weight by itself: a lookup, as that of `nnx.Embed`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx


class Tables:
    """The weights of a model, and what they are cast to."""

    def __init__(self) -> None:
        self._held: dict[int, Any] = {}

    def start(self, model: nnx.Module) -> None:
        """Know the weights of a model; they are kept, so that no other array has their number."""
        for variable in nnx.to_flat_state(nnx.state(model, nnx.Param)).leaves:
            self._hold(variable.get_value())

    def forget(self) -> None:
        """Know none."""
        self._held.clear()

    def cast(self, value: Any, result: Any) -> None:
        """Follow a cast."""
        if id(value) in self._held:
            self._hold(result)

    def whole(self, args: Any, result: Any) -> None:
        """Follow `weight[...]`, which is all of it."""
        if len(args) == 2 and args[1] is Ellipsis:
            self.cast(args[0], result)

    def look_up(self, name: str, args: Any, kwargs: Any) -> bool:
        """Tell whether a call of `take` or `__getitem__` looks rows up in a table."""
        value, *others = args
        if id(value) not in self._held:
            return False
        index = others[0] if others else kwargs.get("indices")
        axis = others[1] if len(others) > 1 else kwargs.get("axis")
        by_rows = name == "__getitem__" or axis == 0
        return by_rows and value.ndim == 2 and _is_numbers(index)

    def _hold(self, value: Any) -> None:
        self._held[id(value)] = value


def _is_numbers(index: Any) -> bool:
    arrays = isinstance(index, jax.Array | np.ndarray)
    return arrays and index.ndim > 0 and bool(jnp.issubdtype(index.dtype, jnp.integer))
