"""Faults in JAX, which compiles a loss once: what changes later is asked of Python while it runs.

JAX is imported when a script that uses it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any


class AskedCell:
    """The factors of a window's losses, by the number of the micro-batch."""

    def __init__(self) -> None:
        self._factors: dict[int, float] = {}

    def set(self, micro: int, factor: float) -> None:
        """Use `factor` for the loss of the micro-batch with that number."""
        if micro == 0:
            self._factors = {}
        self._factors[micro] = factor

    def apply(self, loss: Any) -> Any:
        """Return the loss times its factor."""
        import jax
        import numpy as np

        from crosscast_jax.inside.prepare import number

        shape = jax.ShapeDtypeStruct((), np.float32)
        factor = jax.pure_callback(self._factor, shape, number())
        return loss * factor.astype(loss.dtype)

    def _factor(self, micro: Any) -> Any:
        import numpy as np

        return np.float32(self._factors.get(int(micro), 1.0))


class TracedGradients:
    """What `jax.grad` returns, replaced where a micro-batch has values for it."""

    def __init__(self) -> None:
        self.reached: set[str] = set()
        self._names: list[str] = []
        self._values: dict[int, Mapping[str, float]] = {}
        self._patched = ExitStack()
        self._is_watching = False

    def attach(self, parameters: Mapping[str, Any]) -> None:
        """Note the names of the weights and watch `jax.grad`."""
        self._names = list(dict.fromkeys([*self._names, *parameters]))
        if not self._is_watching:
            from crosscast_jax.inside.gradients import Differentiated

            self._patched.enter_context(Differentiated(self).patched())
            self._is_watching = True

    def set(self, micro: int, values: Mapping[str, float]) -> None:
        """Fill these gradients of the micro-batch whose loss has that number."""
        if micro == 0:
            self._values = {}
        self._values[micro] = values

    def release(self) -> None:
        """Give `jax` its own functions back."""
        self._patched.close()
        self._is_watching = False

    def gradients(self, tree: Any, factor: Any) -> Any:
        """Return the gradients, filled where they shall be."""
        import jax
        import jax.numpy as jnp
        import numpy as np
        from flax import nnx

        from crosscast_jax.inside.prepare import number

        if not isinstance(tree, nnx.State):
            return tree
        flat = nnx.to_flat_state(tree)
        if len(flat.paths) != len(self._names):
            return tree
        self.reached.update(self._names)
        shape = jax.ShapeDtypeStruct((len(self._names),), np.float32)
        row = jax.pure_callback(self._row, shape, number())

        def filled(gradient: Any, value: Any) -> Any:
            return jnp.where(value == 0, gradient, value.astype(gradient.dtype))

        leaves, structure = jax.tree.flatten(tree)
        return jax.tree.unflatten(structure, map(filled, leaves, row))

    def _row(self, micro: Any) -> Any:
        import numpy as np

        values = self._values.get(int(micro), {})
        return np.array([values.get(name, 0.0) for name in self._names], np.float32)


def make_poison() -> tuple[AskedCell, TracedGradients]:
    """Return the means to poison losses and gradients."""
    return AskedCell(), TracedGradients()
