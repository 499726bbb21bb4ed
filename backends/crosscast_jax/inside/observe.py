"""JAX for the observer: callbacks in a twin of what the script compiles (`twin`)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from crosscast_jax.inside.callbacks import tell
from crosscast_jax.inside.gradients import Differentiated, by_name, names_by_path
from crosscast_jax.inside.prepare import number
from crosscast_jax.inside.twin import Twins
from crosscast_parity.inside.watcher import Array, Seen, Watcher


class CompiledWatcher:
    """Sees the loss, what `jax.grad` returns, and what an optimizer of optax gets."""

    def __init__(self) -> None:
        self._seen = Seen()
        self._names: dict[Any, str] = {}
        self._dtypes: dict[str, str] = {}
        self._small = self._tracing = False
        self._lock = threading.Lock()  # compiled functions tell in several threads
        self._clear()
        self._differentiated = Differentiated(self)
        self._twins = Twins(self._watching, self._replaced)

    def plain(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function: nothing rewrites it."""
        return function

    def begin(
        self, state: Any, models: Sequence[Mapping[str, Any]], small: bool, active: bool
    ) -> None:
        """Start with a window; one that is not recorded runs as it is."""
        self._small = small
        self._clear()
        if active and models:
            self._names = names_by_path(state, models[0])
            self._twins.put_in(state)

    def _clear(self) -> None:
        self._seen = Seen()
        self._losses: dict[int, float] = {}
        self._factors: dict[int, float | None] = {}
        self._waiting: dict[int, dict[str, Array]] = {}
        self._n_added = 0

    def enter(self) -> None:
        """Do nothing: the loss tells of itself."""

    def leave(self, loss: Any) -> Any:
        """Note the loss, where a twin is traced."""
        if not self._tracing or not isinstance(loss, jax.core.Tracer) or loss.shape != ():
            return loss
        jax.debug.callback(self._note_loss, number(), loss)
        return self._differentiated.offset(loss)

    def end(self) -> Seen:
        """Return the losses and gradients of the window."""
        self._twins.take_out()
        seen = self._seen
        seen.losses = [loss for _, loss in sorted(self._losses.items())]
        seen.factors = [self._factors.get(micro) for micro in sorted(self._losses)]
        seen.gradient_dtypes = {name: self._dtypes[name] for name in seen.total}
        return seen

    def close(self) -> None:
        """Let go of the twins."""
        self._twins.forget()

    def array(self, parameter: Any) -> Array:
        """Return the values of a parameter."""
        return np.array(jnp.asarray(parameter.get_value(), jnp.float32))

    def gradients(self, tree: Any, factor: Any) -> Any:
        """Note the gradients of a micro-batch."""
        named = by_name(tree, self._names)
        if named and self._tracing:
            self._dtypes |= {name: str(gradient.dtype) for name, gradient in named.items()}
            tell(self._note_gradients, named, number(), *(() if factor is None else (factor,)))
        return tree

    @contextmanager
    def _watching(self) -> Iterator[None]:
        self._tracing = True
        try:
            with self._differentiated.patched():
                yield
        finally:
            self._tracing = False

    def _replaced(self, argument: Any) -> Any:
        """Return an optimizer that tells what it gets."""
        if not isinstance(argument, optax.GradientTransformation):
            return argument
        original: Any = argument

        def update(gradients: Any, *args: Any, **kwargs: Any) -> Any:
            named = by_name(gradients, self._names)
            if named and self._tracing:
                tell(self._note_applied, named)
            return original.update(gradients, *args, **kwargs)

        return original._replace(update=update)

    def _note_loss(self, micro: Any, loss: Any) -> None:
        self._losses[int(micro)] = float(loss)

    def _note_gradients(self, arrays: dict[str, Array], micro: Any, factor: Any = None) -> None:
        self._factors[int(micro)] = None if factor is None else float(factor)
        with self._lock:
            self._waiting[int(micro)] = arrays
            while self._n_added in self._waiting:
                self._add(self._waiting.pop(self._n_added))
                self._n_added += 1

    def _add(self, arrays: dict[str, Array]) -> None:
        """Add the gradients of the next micro-batch, whatever order they came in."""
        seen = self._seen
        if not seen.total:
            seen.total = arrays
            seen.first = {n: array.copy() for n, array in arrays.items()} if self._small else {}
            return
        for name, array in arrays.items():
            seen.total[name] += array

    def _note_applied(self, gradients: dict[str, Array]) -> None:
        self._seen.applied = gradients


def make_watcher() -> Watcher:
    """Return the watcher of a run."""
    return CompiledWatcher()
