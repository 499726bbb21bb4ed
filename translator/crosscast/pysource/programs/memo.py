"""Look-ups that may come back to themselves: kept per node, cut off where they run in a circle."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Module

_Result = TypeVar("_Result")


class Memo(Generic[_Result]):
    """Results of one kind of look-up.

    What was found without cutting a circle is kept for good. Within one outermost look-up the
    other results are kept too, so that no node is looked up twice and the work stays linear.
    """

    __slots__ = ("_busy", "_compute", "_cut", "_cuts", "_deepest", "_kept", "_passing")

    def __init__(
        self,
        compute: Callable[[ast.expr, Module], _Result],
        cut: Callable[[ast.expr, Module], _Result],
        deepest: int,
    ) -> None:
        self._compute = compute
        self._cut = cut
        self._deepest = deepest
        self._busy: set[ast.AST] = set()
        self._cuts = 0
        self._kept: dict[ast.AST, _Result] = {}
        self._passing: dict[ast.AST, _Result] = {}

    @property
    def settled(self) -> bool:
        """Whether no look-up is in progress, so that results are final."""
        return not self._busy

    @property
    def cuts(self) -> int:
        """How many look-ups were cut off so far; what none was cut off in is final."""
        return self._cuts

    def get(self, node: ast.expr, module: Module) -> _Result:
        """Return the result for a node; `cut` if it depends on itself."""
        found = self._kept.get(node)
        if found is not None:
            return found
        busy = self._busy
        if busy:
            found = self._passing.get(node)
            if found is not None:
                return found
            if node in busy or len(busy) > self._deepest:
                self._cuts += 1
                return self._cut(node, module)
        busy.add(node)
        cuts = self._cuts
        try:
            found = self._compute(node, module)
        except RecursionError:
            self._cuts += 1
            found = self._cut(node, module)
        finally:
            busy.discard(node)
        if self._cuts == cuts or not busy:
            self._kept[node] = found
        else:
            self._passing[node] = found
        if not busy:
            self._passing.clear()
        return found
