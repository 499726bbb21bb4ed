"""Whether an object exists by default: `scaler = None`, then made where a flag says so."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast.pysource.containers import definitions

if TYPE_CHECKING:
    from crosscast.pysource.module import Module
    from crosscast.pysource.scopes import Binding

_HOPS = 4


def is_made(node: ast.Compare, module: Module) -> bool | None:
    """Return what `scaler is not None` is with the defaults of flags; None: not known."""
    other, how = node.comparators[0], node.ops[0]
    nothing = isinstance(other, ast.Constant) and other.value is None
    if not nothing or not isinstance(how, ast.Is | ast.IsNot):
        return None
    made = _made(node.left, module, 0)
    return None if made is None else made is isinstance(how, ast.IsNot)


def _made(node: ast.expr, module: Module, hops: int) -> bool | None:
    if not isinstance(node, ast.Name | ast.Attribute) or hops > _HOPS:
        return None
    found = list(definitions(node, module))
    if len(found) == 1 and found[0].kind == "parameter":
        return _given(found[0], hops)
    values = [one.value for one in found if one.kind == "assign"]
    empty = [v for v in values if isinstance(v, ast.Constant) and v.value is None]
    if len(values) < 2 or len(values) != len(found) or not empty:
        return None
    answers = {_runs(one) for one in found if isinstance(one.value, ast.Call)}
    if len(answers) != 1 or len(empty) + sum(isinstance(v, ast.Call) for v in values) < len(values):
        return None
    return answers.pop()


def _given(one: Binding, hops: int) -> bool | None:
    program = one.module.program
    if program is None or not isinstance(one.node, ast.arg):
        return None
    given = program.arguments_for(one, one.node.arg)
    answers = {_made(inner, where, hops + 1) for inner, where in given}
    return answers.pop() if len(answers) == 1 else None


def _runs(one: Binding) -> bool | None:
    """Whether an assignment is reached with the defaults of flags."""
    from crosscast.readers.torch.switches import around, usually

    answer: bool | None = True
    for test in around(one.node, one.module, depth=9):
        met = usually(test.node, test.module)
        if met is not None and met != test.holds:
            return False
        if met is None:
            answer = None
    return answer
