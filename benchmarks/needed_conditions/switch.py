"""What the rewritten modules ask at run time: which condition is removed, and who wants to know.

One process has one removed condition at most. While tests are recorded, a set collects the
conditions whose value differed from the one that a removed condition has: a test in which no value
differs cannot notice the removal.
"""

from __future__ import annotations

from typing import TypeVar

from conditions import LAST, REMOVED, SEEN, USED, Condition

Value = TypeVar("Value")


class Switch:
    """The state of the conditions of all rewritten modules."""

    def __init__(self) -> None:
        self.conditions: list[Condition] = []
        self.removed = bytearray()
        self.recording = False
        self.reached: set[int] = set()
        self.differed: set[int] = set()
        self._last: object = None

    def add(self, conditions: list[Condition]) -> None:
        """Add the conditions of a module."""
        self.conditions += conditions
        self.removed.extend(bytes(len(conditions)))

    def names(self) -> dict[str, object]:
        """Return what a rewritten module finds among its globals."""
        return {
            REMOVED: self.removed,
            SEEN: self._seen,
            USED: self._used,
            LAST: lambda: self._last,
        }

    def _seen(self, number: int, value: Value) -> Value:
        self._last = value
        if self.recording:
            self.reached.add(number)
            if bool(value) is not self.conditions[number].without:
                self.differed.add(number)
        return value

    def _used(self, number: int, value: Value) -> Value:
        """Take a last term whose value is used: without it there is another value."""
        if self.recording:
            self.reached.add(number)
            self.differed.add(number)
        return value


SWITCH = Switch()
