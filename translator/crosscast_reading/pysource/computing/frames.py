"""What computed code holds: names with their values, functions, and values that are not known."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_reading.pysource.computing.functions import Array
from crosscast_reading.pysource.values.arithmetic import NoValueError

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module


@dataclass(slots=True)
class Variables:
    """The names that computed code has assigned, innermost function first."""

    module: Module
    names: dict[str, object] = field(default_factory=dict)
    parent: Variables | None = None

    def find(self, name: str) -> dict[str, object] | None:
        """Return the names among which a name is; None if no function assigns it."""
        frame: Variables | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names
            frame = frame.parent
        return None


@dataclass(frozen=True, slots=True)
class Closure:
    """A function of the program as a value, with the arguments of a `functools.partial`."""

    node: Function | ast.Lambda
    module: Module
    frame: Variables | None = None
    given: tuple[object, ...] = ()
    named: Mapping[str, object] = field(default_factory=dict)


class Nothing:
    """A value that is not known: reading it is an error."""


NOTHING = Nothing()


def truth(value: object) -> bool:
    """Return whether a value counts as true; raises for arrays and for functions."""
    if isinstance(value, Array | Closure | Nothing):
        raise NoValueError
    return bool(value)
