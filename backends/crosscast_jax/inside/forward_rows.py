"""How many rows a micro-batch has: the rows of what a loss function or its model is given."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

KEYS = (2,)
"""Shape of a key for random numbers as an array."""


class Rows:
    """The rows of a micro-batch; `count`: None if they are not known."""

    def __init__(self, count: int | None) -> None:
        self.count = count
        self.of_model: int | None = None


class ForwardRows:
    """Notes rows while a function is differentiated."""

    def __init__(self) -> None:
        self._open: list[Rows] = []
        self._mapped = 0
        self._called = 0
        jax.vmap = self._maps(jax.vmap)

    @contextmanager
    def of(self, args: Any, kwargs: Any, argnums: Any) -> Iterator[Rows]:
        """Return the rows of a call, complete when the context ends.

        The rows that a model gets, else those on which all arrays agree that the function gets
        besides what it is differentiated by.
        """
        numbers = {argnums} if isinstance(argnums, int) else set(_numbers(argnums))
        rest = [value for n, value in enumerate(args) if n not in numbers]
        rows = Rows(rows_of([*rest, *kwargs.values()]))
        self._open.append(rows)
        try:
            yield rows
        finally:
            self._open.remove(rows)
            rows.count = rows.of_model or rows.count

    def watch_modules(self, kind: Any) -> None:
        """Look at the calls of modules of NNX, as their classes are defined."""
        original = kind.__init_subclass__

        def subclass(cls: Any, /, **options: Any) -> None:
            original.__func__(cls, **options)
            call = cls.__dict__.get("__call__")
            if call is not None:
                cls.__call__ = self._calls(call)

        kind.__init_subclass__ = classmethod(subclass)

    def watch_apply(self, kind: Any) -> None:
        """Look at the calls of modules of Linen."""
        original = kind.apply

        @functools.wraps(original)
        def apply(module: Any, variables: Any, *args: Any, **kwargs: Any) -> Any:
            self.model_gets(args)
            return original(module, variables, *args, **kwargs)

        kind.apply = apply

    def _calls(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            self.model_gets([*args, *kwargs.values()])
            return original(module, *args, **kwargs)

        return call

    def model_gets(self, values: Any) -> None:
        """Note the rows of the first model that is called."""
        if self._open and not self._mapped and self._open[-1].of_model is None:
            self._open[-1].of_model = rows_of(values)

    def _maps(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap `jax.vmap`: what is mapped does not see all rows."""

        @functools.wraps(original)
        def vmap(*args: Any, **options: Any) -> Any:
            if not args and "fun" not in options:
                return functools.partial(vmap, **options)
            inner = original(*args, **options)

            @functools.wraps(inner)
            def mapped(*given: Any, **named: Any) -> Any:
                self._mapped += 1
                try:
                    return inner(*given, **named)
                finally:
                    self._mapped -= 1

            return mapped

        return vmap


def rows_of(values: Any) -> int | None:
    """Return the first dimension of all arrays; None if they differ in it."""
    leaves = [leaf for leaf in jax.tree.leaves(values) if isinstance(leaf, jax.Array | np.ndarray)]
    counts = {
        leaf.shape[0]
        for leaf in leaves
        if leaf.ndim and not (leaf.dtype == np.uint32 and leaf.shape == KEYS)
    }
    return counts.pop() if len(counts) == 1 else None


def _numbers(argnums: Any) -> list[int]:
    several = argnums if isinstance(argnums, list | tuple) else [argnums]
    return [number if isinstance(number, int) else number.argnum for number in several]
