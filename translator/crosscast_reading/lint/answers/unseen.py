"""Calls of functions that none of the given files defines, and what they may get."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from crosscast_reading.pysource.libraries.public_names import INSTALLED, STANDARD

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

LIBRARIES = INSTALLED | STANDARD | frozenset(dir(builtins))
"""First names of functions that are known."""
_OPTIMIZER = re.compile(r"optim|opt$", re.I)


def unseen_gets(program: Program, texts: Collection[str]) -> bool:
    """Whether a function that no file shows gets an optimizer, or one of some expressions."""
    return any(
        _OPTIMIZER.search(text.rpartition(".")[2]) or text in texts
        for call in program.calls()
        if is_unseen(call)
        for text in map(ast.unparse, _given(call.node))
    )


def is_unseen(call: Call) -> bool:
    """Whether a call is of a function that is neither in the files nor a library's."""
    program = call.module.program
    if program.function(call) is not None or program.constructor(call) is not None:
        return False
    return ":" not in call.name and call.name.partition(".")[0] not in LIBRARIES


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(each.value for each in call.keywords)]
