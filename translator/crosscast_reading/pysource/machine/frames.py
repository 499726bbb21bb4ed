"""What computed code holds: names with their values, and functions."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crosscast_reading.pysource.values.budget import NoValueError

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module


@dataclass(eq=False, slots=True)
class Variables:
    """The names that computed code has assigned, innermost function first."""

    module: Module
    names: dict[str, Any] = field(default_factory=dict)
    parent: Variables | None = None
    is_inner: bool = False
    """Whether it holds the variables of a comprehension."""

    def find(self, name: str) -> dict[str, Any] | None:
        """Return the names among which a name is; None if no function assigns it."""
        frame: Variables | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names
            frame = frame.parent
        return None


@dataclass(frozen=True, eq=False, slots=True)
class Closure:
    """A function of the program as a value, with the arguments of a `functools.partial`."""

    node: Function | ast.Lambda
    module: Module
    frame: Variables | None = None
    given: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)


class Nothing:
    """A value that is not known: computing with it is an error."""

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise NoValueError

    def __eq__(self, other: object) -> bool:
        raise NoValueError

    def __str__(self) -> str:
        raise NoValueError


NOTHING = Nothing()
