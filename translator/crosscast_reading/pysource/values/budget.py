"""How much may be computed: sizes of values, and numbers of steps. Sources may be hostile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

MAX_BITS = 1023
"""Of an integer: each is kept below 2**1023, so that `float` of it does not overflow."""
MAX_LENGTH = 20_000
"""Of a text, list or tuple."""
MAX_SIZE = 3 * MAX_LENGTH
"""Parts and characters of the operands of one operation, counted as often as they are held."""


NUMBERS = frozenset({int, float, bool})
"""Types whose values have no parts."""


class NoValueError(Exception):
    """The operation has no value here."""


class Budget:
    """Steps that may still be computed, and calls that may stand within each other.

    Args:
        steps: expressions and statements.
        calls: functions that have not returned yet.
    """

    def __init__(self, steps: int, calls: int) -> None:
        self.calls = calls
        self.left = steps
        """Steps that are left; whoever computes one counts it here."""
        self._depth = 0

    @property
    def is_inside(self) -> bool:
        """Whether a function is being computed."""
        return self._depth > 0

    def spend(self, steps: int) -> bool:
        """Count steps; return whether they may be computed."""
        self.left -= steps
        return self.left >= 0

    @contextmanager
    def call(self) -> Iterator[bool]:
        """Count a call while it is computed; yield whether it may be."""
        self._depth += 1
        try:
            yield self._depth <= self.calls
        finally:
            self._depth -= 1

    @contextmanager
    def at_most(self, steps: int) -> Iterator[None]:
        """Compute something with at most so many steps, which are not counted afterwards."""
        before = self.left
        self.left = min(before, steps)
        try:
            yield
        finally:
            self.left = before


def measure(*values: object, is_unknown: Callable[[object], bool] | None = None) -> int:
    """Return the number of parts of values, at every depth, and of characters.

    Raises:
        NoValueError: there are more than `MAX_SIZE`, or one is not known.
    """
    waiting, seen = list(values), 0
    while waiting:
        value = waiting.pop()
        if value.__class__ in NUMBERS:
            pass
        elif isinstance(value, list | tuple | set):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value)
            waiting.extend(value.values())
        elif isinstance(value, str | bytes):
            seen += len(value)
        elif is_unknown is not None and is_unknown(value):
            raise NoValueError
        seen += 1
        if seen + len(waiting) > MAX_SIZE:
            raise NoValueError
    return seen


def bounded(result: object) -> object:
    """Return a result.

    Raises:
        NoValueError: it is too large, or no value of a source.
    """
    if result.__class__ is float:
        return result
    if isinstance(result, complex) or (isinstance(result, int) and result.bit_length() > MAX_BITS):
        raise NoValueError
    if isinstance(result, str | list | tuple | set | dict) and len(result) > MAX_LENGTH:
        raise NoValueError
    return result
