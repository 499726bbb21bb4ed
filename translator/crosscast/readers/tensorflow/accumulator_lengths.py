"""How many gradients go into a sum that a TensorFlow program keeps in variables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast.pysource.syntax.nodes import identifier, walk
from crosscast.readers.python.library_calls import last

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Module

_APPLIES = re.compile(r"apply|update|optimi[sz]e|minimi[sz]e|train_op", re.I)
_COUNTS = re.compile(r"cond$|smart_cond$")


def length_of(sums: Sequence[Call]) -> tuple[ast.expr, Module] | None:
    """Return the number of gradients in a sum, and where it stands.

    Either the sum is run so often by a session, or a variable counts up to the number and a
    condition on it lets the sum be applied.
    """
    for call in sums:
        found = _runs_of(call) or _counted_up(call.module)
        if found is not None:
            return found, call.module
    return None


def added_division(call: Call) -> ast.expr | None:
    """Return n of `total.assign_add(gradient / n)`."""
    for node in call.node.args:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return node.right
    return None


def is_divided(text: str, module: Module) -> bool:
    """Whether anything in a file is divided by a number that is written so."""
    return any(_divides(node, text, module) for node in module.nodes)


def _divides(node: ast.AST, text: str, module: Module) -> bool:
    match node:
        case ast.BinOp(op=ast.Div() | ast.FloorDiv(), right=right):
            return text in module.text(right)
        case ast.AugAssign(op=ast.Div(), value=value):
            return text in module.text(value)
        case ast.Call():
            named = last(module.call(node).name) or module.call(node).method
            given = [module.text(argument) for argument in node.args[1:]]
            return named in ("div", "divide", "truediv", "realdiv") and any(
                text in each for each in given
            )
    return False


def _runs_of(call: Call) -> ast.expr | None:
    """Return n of `for _ in range(n): session.run(add_ops)`, where the sum is one of `add_ops`."""
    module = call.module
    statement = module.statement_of(call.node)
    if not isinstance(statement, ast.Assign):
        return None
    names = {identifier(target) for target in statement.targets} - {""}
    for other in module.calls:
        if other.method != "run" or not other.node.args:
            continue
        first = other.node.args[0]
        parts = first.elts if isinstance(first, ast.List | ast.Tuple) else [first]
        if not names & {identifier(part) for part in parts}:
            continue
        loop = module.enclosing(other.node, ast.For, ast.While)
        match loop:
            case ast.For(iter=ast.Call(func=ast.Name(id="range" | "xrange"), args=[count])):
                return count
    return None


def _counted_up(module: Module) -> ast.expr | None:
    """Return n of `tf.cond(tf.equal(count, n), apply, ...)`, where `count` grows by 1."""
    counters = set(_counters(module))
    for call in module.calls:
        if not counters or not _COUNTS.search(call.method) or len(call.node.args) < 2:
            continue
        test, branches = call.node.args[0], call.node.args[1:]
        if any(_APPLIES.search(module.text(branch)) for branch in branches):
            found = _compared(test, counters, module)
            if found is not None:
                return found
    return None


def _counters(module: Module) -> Iterator[str]:
    for call in module.calls:
        if call.method == "assign_add" and call.receiver is not None and call.node.args:
            one = call.node.args[0]
            if isinstance(one, ast.Constant) and one.value == 1:
                yield module.text(call.receiver)


def _compared(test: ast.expr, counters: set[str], module: Module) -> ast.expr | None:
    for node in walk(test):
        sides: list[ast.expr] = []
        match node:
            case ast.Call(func=ast.Attribute(attr="equal" | "greater_equal"), args=[left, right]):
                sides = [left, right]
            case ast.Compare(left=left, ops=[ast.Eq() | ast.GtE()], comparators=[right]):
                sides = [left, right]
        for side, other in (sides, sides[::-1]) if sides else ():
            if module.text(side) in counters and not isinstance(other, ast.Constant):
                return other
    return None
