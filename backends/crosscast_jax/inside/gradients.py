"""Where gradients come to light: `jax.grad` and `jax.value_and_grad`, while a script is traced."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from flax import nnx


class Sink(Protocol):
    """Gets the gradients of a function, as tracers."""

    def gradients(self, tree: Any, factor: Any) -> Any:
        """Return the gradients to hand to the script, for a tree of them.

        `factor`: the gradient for what `offset` of `Differentiated` gave, None if not asked for.
        """


class Differentiated:
    """Patches the functions of `jax` that differentiate."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._offset: list[Any] = []
        self._asked = False

    def offset(self, loss: Any) -> Any:
        """Return a loss plus a zero whose gradient tells what backward started from."""
        if not self._offset:
            return loss
        self._asked = True
        return loss + self._offset[-1].astype(loss.dtype)

    @contextmanager
    def patched(self) -> Iterator[None]:
        """Watch what is traced meanwhile."""
        originals = {name: getattr(jax, name) for name in ("grad", "value_and_grad")}
        for name, original in originals.items():
            setattr(jax, name, self._watched(original, with_value=name != "grad"))
        try:
            yield
        finally:
            for name, original in originals.items():
                setattr(jax, name, original)

    def _watched(self, original: Callable[..., Any], *, with_value: bool) -> Callable[..., Any]:
        @functools.wraps(original)
        def differentiate(fun: Any, argnums: Any = 0, has_aux: bool = False, **kw: Any) -> Any:
            single = isinstance(argnums, int)
            numbers = (argnums,) if single else tuple(argnums)

            def with_offset(offset: Any, *args: Any, **kwargs: Any) -> Any:
                self._offset.append(offset)
                try:
                    return fun(*args, **kwargs)
                finally:
                    self._offset.pop()

            places = (0, *(number + 1 for number in numbers))
            inner = original(with_offset, places, has_aux=has_aux, **kw)

            def computed(*args: Any, **kwargs: Any) -> Any:
                self._asked = False
                result: Any = inner(jnp.zeros(()), *args, **kwargs)
                in_pair = has_aux or with_value
                pair: Any = result if in_pair else (result, ())
                first, second = pair
                factor, *trees = second if with_value else first
                factor = factor if self._asked else None
                seen = [self._sink.gradients(tree, factor) for tree in trees]
                gradients = seen[0] if single else tuple(seen)
                if with_value:
                    return first, gradients
                return (gradients, second) if has_aux else gradients

            return computed

        return differentiate


def by_name(tree: Any, names: Mapping[Any, str]) -> dict[str, Any]:
    """Return the arrays of a tree of gradients by the names of their paths; empty for others."""
    if not isinstance(tree, nnx.State):
        return {}
    arrays = {}
    for path, value in nnx.to_flat_state(tree):
        if path in names:
            arrays[names[path]] = value.get_value() if isinstance(value, nnx.Variable) else value
    return arrays


def names_by_path(state: Any, named: Mapping[str, Any]) -> dict[Any, str]:
    """Return the names of a script's weights by their paths in its model."""
    paths = nnx.to_flat_state(nnx.state(state.model, nnx.Param)).paths
    return dict(zip(paths, named, strict=True)) if len(paths) == len(named) else {}
