"""Look-ups that may come back to themselves: kept per node, cut off where they run in a circle."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Generic, TypeVar

_Where = TypeVar("_Where")
_Result = TypeVar("_Result")


class Progress:
    """The look-ups that are in progress in the memos of a program, which ask each other."""

    __slots__ = ("_when_settled", "cuts", "depth")

    def __init__(self) -> None:
        self.cuts = 0
        """How many answers were provisional so far; what was found without one is final."""
        self.depth = 0
        """How many look-ups are in progress."""
        self._when_settled: list[Callable[[], None]] = []

    @property
    def settled(self) -> bool:
        """Whether no look-up is in progress, so that results are final."""
        return not self.depth

    def when_settled(self, action: Callable[[], None]) -> None:
        """Call a function each time when no look-up is in progress any more."""
        self._when_settled.append(action)

    def begin(self) -> None:
        """Count a look-up; `end` must follow."""
        self.depth += 1

    def end(self) -> None:
        """Count a look-up as done."""
        self.depth -= 1
        if not self.depth:
            for action in self._when_settled:
                action()


class Memo(Generic[_Where, _Result]):
    """Results of one kind of look-up.

    What was found without cutting a circle is kept for good. Within one outermost look-up the
    other results, which are provisional, are kept too, so that no node is looked up twice and the
    work stays linear. A circle may lead through several memos, so all of a program share their
    progress. What is looked up is a node, with its module or another object that belongs to it.
    """

    __slots__ = ("_busy", "_compute", "_cut", "_deepest", "_kept", "_passing", "_progress")

    def __init__(
        self,
        compute: Callable[[Any, _Where], _Result],
        cut: Callable[[Any, _Where], _Result],
        deepest: int,
        progress: Progress,
    ) -> None:
        self._compute = compute
        self._cut = cut
        self._deepest = deepest
        self._progress = progress
        self._busy: set[ast.AST] = set()
        self._kept: dict[ast.AST, _Result] = {}
        self._passing: dict[ast.AST, _Result] = {}
        progress.when_settled(self._passing.clear)

    def get(self, node: ast.AST, where: _Where) -> _Result:
        """Return the result for a node; `cut` if it depends on itself."""
        answer = self._kept.get(node)
        if answer is not None:
            return answer
        busy, progress = self._busy, self._progress
        if progress.depth:
            answer = self._passing.get(node)
            if answer is not None:
                progress.cuts += 1
                return answer
            if node in busy or len(busy) > self._deepest:
                progress.cuts += 1
                return self._cut(node, where)
        busy.add(node)
        progress.begin()
        cuts = progress.cuts
        try:
            answer = self._compute(node, where)
        except RecursionError:
            progress.cuts += 1
            answer = self._cut(node, where)
        finally:
            busy.discard(node)
            progress.end()
        if progress.cuts == cuts or progress.settled:
            self._kept[node] = answer
        else:
            self._passing[node] = answer
        return answer
