"""Compiled functions of a user's program, run twice: once watched, then as they are.

As in `twin`: what is compiled with callbacks in it may be rounded otherwise, so the results of a
watched run are thrown away, and the program goes on with those of its own function. Nothing that
is traced for the one is used for the other: a twin is traced in a context of its own.
"""

from __future__ import annotations

import functools
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jax._src.core import trace_state_clean

from crosscast_jax.inside.product_types import product_types
from crosscast_jax.inside.update_records import Updates

PLAIN, WHOLE, LIGHT = 0, 1, 2
"""Contexts: of the program, of a twin that tells tensors, of one that tells numbers alone."""
_CONTEXT = jax.make_user_context(default_value=PLAIN)
_callback = jax.debug.callback
NOT_DONATED = ("donate_argnums", "donate_argnames")
MEANS = {"pmap": "jax.pmap", "shard_map": "jax.shard_map"}
"""Parts of JAX that compile, as they are known to users; by the names of their code."""
AHEAD = ("lower", "trace")
"""Methods of a compiled function that leave to the program when it is executed."""


class Unseen(Exception):
    """A function cannot be executed twice."""


class Twins:
    """Runs twins and tells whether one is traced."""

    def __init__(self, updates: Updates) -> None:
        self.updates = updates
        self._thread: int | None = None
        self._own = 0
        self._told = 0
        self.ahead = ""
        """The method that is called of a compiled function, as users know it."""

    @property
    def watching(self) -> bool:
        """Whether a twin is run, by this thread: one that loads rows may run functions, too."""
        return self._thread == threading.get_ident()

    @property
    def covered(self) -> bool:
        """Whether the program's own function runs, whose twin has run before."""
        return self._own > 0

    def beside(self, name: str, twin: Any, args: Any, kwargs: Any) -> None:
        """Run a twin; what it returns is thrown away, and what it draws is not drawn."""
        if self.updates.stopped:
            return
        drawn = random.getstate(), np.random.get_state()
        self._thread = threading.get_ident()
        try:
            with _CONTEXT(WHOLE if self.updates.wants_tensors else LIGHT):
                if hasattr(twin, "trace"):
                    told = self._told
                    traced = twin.trace(*args, **kwargs)
                    if self._told > told:  # it trains: what else is compiled does not matter
                        self.updates.types |= product_types(traced.jaxpr)
                jax.block_until_ready(twin(*args, **kwargs))
            jax.effects_barrier()
        except Exception as problem:
            words = str(problem).strip().partition("\n")[0][:200]
            kind = "" if isinstance(problem, Unseen) else f"{type(problem).__name__}: "
            self.updates.stop(f"{name} could not be watched: {kind}{words}")
        finally:
            self._thread = None
            random.setstate(drawn[0])
            np.random.set_state(drawn[1])

    @contextmanager
    def program(self) -> Iterator[None]:
        """Run what the program itself runs."""
        self._own += 1
        try:
            yield
        finally:
            self._own -= 1

    def compiled_unseen(self) -> None:
        """An update is being compiled for the program, and no twin of that was run."""
        if self.watching or self.covered or trace_state_clean():
            return
        frame, means = sys._getframe(), self.ahead
        while frame is not None:
            names = {frame.f_code.co_name, frame.f_code.co_filename.rpartition("/")[2][:-3]}
            if "/jax/" in frame.f_code.co_filename:
                means = next((MEANS[name] for name in names if name in MEANS), means)
            frame = frame.f_back  # type: ignore[assignment]
        words = means or "something else than jax.jit"
        self.updates.stop(f"{words} compiles its updates, which was not watched")

    def tell(self, note: Callable[..., None], *arrays: Any) -> None:
        """Call with arrays, in the order of the execution: now, or where a twin is executed."""
        if any(isinstance(array, jax.core.Tracer) for array in arrays):
            self._told += 1
            _callback(note, *arrays, ordered=True)
        else:
            note(*arrays)

    def doubled(
        self, name: str, original: Callable[..., Any], twin: Callable[..., Any] | None = None
    ) -> Callable[..., Any]:
        """Return a function that is watched where it is called outside of any other.

        `twin`: what is run beside it; None for the function itself, which calls what tells.
        """

        @functools.wraps(original)
        def double(*args: Any, **kwargs: Any) -> Any:
            if self.watching or self.covered or not trace_state_clean():
                return original(*args, **kwargs)
            self.beside(name, twin or original, args, kwargs)
            with self.program():
                return original(*args, **kwargs)

        return double


class Compiled:
    """Stands in for what `jax.jit` returns."""

    def __init__(self, twins: Twins, function: Any, original: Any, options: dict[str, Any]) -> None:
        functools.update_wrapper(self, original, updated=())
        self._twins, self._function, self._original = twins, function, original
        kept = {name: value for name, value in options.items() if name not in NOT_DONATED}
        self._inner = jax_jit(_alike(function), **kept)
        kept.pop("out_shardings", None)
        self._twin = jax_jit(_silent(function), **kept)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the twin, and then the program's own function."""
        twins = self._twins
        if twins.watching:
            return self._inner(*args, **kwargs)
        if twins.covered or not trace_state_clean():
            return self._original(*args, **kwargs)
        name = getattr(self._function, "__name__", "a function")
        twins.beside(name, self._twin, args, kwargs)
        with twins.program():
            return self._original(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return the method of an object, as a function does."""
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the compiled function."""
        original = self.__dict__.get("_original")
        if original is None:
            raise AttributeError(name)
        value = getattr(original, name)
        return functools.partial(self._ahead, name, value) if name in AHEAD else value

    def _ahead(self, name: str, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        outer, self._twins.ahead = self._twins.ahead, f"jax.jit(...).{name}"
        try:
            return method(*args, **kwargs)
        finally:
            self._twins.ahead = outer


def _alike(function: Any) -> Callable[..., Any]:
    """Return another function that does the same, so that nothing compiled is shared."""

    @functools.wraps(function, updated=())
    def alike(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return alike


def _silent(function: Any) -> Callable[..., Any]:
    @functools.wraps(function, updated=())
    def silent(*args: Any, **kwargs: Any) -> None:
        function(*args, **kwargs)

    return silent


jax_jit = jax.jit


def watched_jit(twins: Twins) -> Callable[..., Any]:
    """Return the stand-in for `jax.jit`."""

    @functools.wraps(jax_jit)
    def jit(*args: Any, **options: Any) -> Any:
        if not args and "fun" not in options:
            return functools.partial(jit, **options)
        function = args[0] if args else options.pop("fun")
        return Compiled(twins, function, jax_jit(function, *args[1:], **options), options)

    return jit


def without_host(twins: Twins, original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that calls the host, which a twin must not do a second time.

    What only prints is left out; what gives the program values cannot be.
    """

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not twins.watching:
            return original(*args, **kwargs)
        if name.startswith("jax.debug"):
            return None
        raise Unseen(f"it calls the host ({name})")

    return call
