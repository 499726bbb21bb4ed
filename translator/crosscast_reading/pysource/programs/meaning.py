"""What an expression can be, and the question for it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module


@dataclass(frozen=True, slots=True)
class Meaning:
    """One thing that an expression can be."""

    name: str
    kind: Literal["symbol", "instance", "member", "module"] = "symbol"
    """member: an attribute of an instance that no file given defines, as a method of a library."""
    call: ast.Call | None = None
    """Of an instance: the call that made it."""
    module: Module | None = None
    """Module of `call` or of the partial's call."""
    partial: tuple[ast.Call, ...] = ()
    """`functools.partial(...)` calls around a symbol, innermost first."""


def meanings_of(node: ast.expr, module: Module) -> tuple[Meaning, ...]:
    """Return everything that an expression can be, in the order of the text."""
    return module.program.meanings.get(node, module)
