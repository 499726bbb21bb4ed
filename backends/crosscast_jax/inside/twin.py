"""Compiled functions of a script, run twice: once watched, then as they are.

What a compiled function computes can be seen only by compiling it with what tells of it, and XLA
may then fuse, and so round, otherwise. So in a watched window each compiled function of the script
is executed twice. First comes a twin, which is traced again with the watcher in place. It gets the
same arguments, donates none, and its results are thrown away. Then comes the script's own function,
whose compiled program and results are those of an unwatched run.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import jax
import numpy as np

COMPILED = type(jax.jit(lambda: None))
_CALL = jax.make_user_context(default_value=0)
_numbers = itertools.count(1)


class Calls:
    """Numbers what is called while a function is traced.

    JAX traces a function a second time, such as that of equal layers, only if something of its
    context has changed: a number that no other call had.
    """

    def __init__(self) -> None:
        self._contexts = ExitStack()
        self._count = 0

    def next(self) -> int:
        """Go on to the next call; return the number of this one."""
        self._count += 1
        self._contexts.enter_context(_CALL(next(_numbers)))
        return self._count - 1

    def forget(self) -> None:
        """Start again with the first, in the context that was there before it."""
        self._contexts.close()
        self._count = 0


recorded = Calls()
"""Operations that are recorded. The context belongs to what is compiled: nothing stays of it."""


class Twins:
    """Stands in for the compiled functions of a script while a window is watched.

    Args:
        watching: a context in which a twin is traced and executed.
        replaced: returns what a twin gets instead of an argument that is not of arrays.
    """

    def __init__(self, watching: Callable[[], Any], replaced: Callable[[Any], Any]) -> None:
        self._watching, self._replaced = watching, replaced
        self._compiled: dict[Any, Any] = {}
        self._originals: dict[str, Any] = {}
        self._module: Any = None

    def put_in(self, state: Any) -> None:
        """Replace the compiled functions in the module that defines the class of the state."""
        self._module = sys.modules.get(type(state).__module__)
        for name, function in list(vars(self._module).items()):
            if isinstance(function, COMPILED):
                self._originals[name] = function
                setattr(self._module, name, self._doubled(name, function))

    def take_out(self) -> None:
        """Put them back; may be called twice."""
        while self._originals:
            name, function = self._originals.popitem()
            setattr(self._module, name, function)

    def forget(self) -> None:
        """Let go of what was compiled."""
        self.take_out()
        self._compiled.clear()
        self._module = None

    def _doubled(self, name: str, function: Any) -> Callable[..., Any]:
        def doubled(*args: Any) -> Any:
            self._run_twin(name, function, args)
            recorded.forget()
            return function(*args)

        return doubled

    def _run_twin(self, name: str, function: Any, args: tuple[Any, ...]) -> None:
        fixed = {n: arg for n, arg in enumerate(args) if not _is_of_arrays(arg)}
        varying = [arg for n, arg in enumerate(args) if n not in fixed]
        shapes = tuple((x.shape, str(x.dtype)) for x in jax.tree.leaves(varying))
        key = name, tuple((n, id(arg)) for n, arg in fixed.items()), shapes
        if key not in self._compiled:
            given = {n: self._replaced(arg) for n, arg in fixed.items()}
            with self._watching():
                compiled = _compiled(function.__wrapped__, given, len(args), varying)
            # `fixed` is kept, so that no other argument gets one of these numbers.
            self._compiled[key] = compiled, fixed
        jax.block_until_ready(self._compiled[key][0](*varying))
        jax.effects_barrier()


def _compiled(
    function: Callable[..., Any], fixed: dict[int, Any], n_args: int, varying: list[Any]
) -> Any:
    """Compile a function for arguments of these shapes, and for those that do not vary."""

    def twin(*varying: Any) -> Any:
        rest = iter(varying)
        return function(*(fixed[n] if n in fixed else next(rest) for n in range(n_args)))

    lowered = jax.jit(twin).lower(*varying)
    return lowered.compile()


def _is_of_arrays(argument: Any) -> bool:
    leaves = jax.tree.leaves(argument)
    return bool(leaves) and all(isinstance(x, jax.Array | np.ndarray | np.generic) for x in leaves)
