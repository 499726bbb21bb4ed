"""Schedules of fluid counted the calls of `minimize`; those of Paddle 3 count `step()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.edits.edit import Edit
from crosscast.edits.node_edits import insert
from crosscast.migrate.paddle_fluid import CannotError
from crosscast.migrate.paddle_names.call_forms import is_constant
from crosscast.pysource.programs.module import Module

_WAY = "call step() of the schedule after each minimize"
_FIRST = {"noam_decay": 1, "NoamDecay": 1}


def stepped_schedule(module: Module, call: ast.Call) -> list[Edit]:
    """Return the edits that step a schedule after each `minimize` of its optimizer.

    Raises:
        CannotError: it counts otherwise, or the optimizer's `minimize` is not certain.
    """
    _counts_from_start(module, call)
    statements = list(_minimized(module))
    if not statements:
        raise CannotError(call, f"no minimize is in this file; {_WAY}")
    receivers = {module.text(function.value) for _, function in statements}
    if len(receivers) > 1:
        raise CannotError(call, f"several optimizers minimize; {_WAY}")
    if any(_schedules(module, call)):
        raise CannotError(call, f"there are several schedules; {_WAY}")
    return [
        _after(module, statement, f"{_schedule(module, call, function)}.step()")
        for statement, function in statements
    ]


def _counts_from_start(module: Module, call: ast.Call) -> None:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else module.text(call.func)
    for keyword in call.keywords:
        first = _FIRST.get(name, 0)
        if keyword.arg == "begin" and not is_constant(keyword.value, first):
            raise CannotError(call, f"it does not begin at {first}; give last_epoch=")
        if keyword.arg == "step" and not is_constant(keyword.value, 1):
            raise CannotError(call, f"it does not count by one; {_WAY}")


def _minimized(module: Module) -> Iterator[tuple[ast.stmt, ast.Attribute]]:
    """Yield each statement `optimizer.minimize(loss)`."""
    for call in module.calls:
        function = call.node.func
        if not isinstance(function, ast.Attribute) or function.attr != "minimize":
            continue
        if module.is_dead(call.node):
            continue
        statement = module.statement_of(call.node)
        alone = isinstance(statement, ast.Expr | ast.Assign) and statement.value is call.node
        if not alone or len(call.node.args) > 1:
            raise CannotError(call.node, f"a scaler or an expression minimizes; {_WAY}")
        assert statement is not None
        yield statement, function


def _schedules(module: Module, call: ast.Call) -> Iterator[ast.Call]:
    """Yield the other schedules of the module."""
    for other in module.calls:
        name = other.method
        if other.node is not call and name.lower().replace("_", "").endswith("decay"):
            whole = other.name
            if ".dygraph." in whole or ".layers." in whole:
                yield other.node


def _schedule(module: Module, call: ast.Call, minimize: ast.Attribute) -> str:
    """Return how the place of `minimize` can name the schedule."""
    parent = module.parent(call)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        here, there = module.function_of(call), module.function_of(minimize)
        if isinstance(target, ast.Name) and (here is there or here is None):
            stored = [
                node
                for node in module.every(ast.Name)
                if node.id == target.id and isinstance(node.ctx, ast.Store)
            ]
            if len(stored) == 1:
                return target.id
    return f"{module.text(minimize.value)}._learning_rate"


def _after(module: Module, statement: ast.stmt, text: str) -> Edit:
    """Return the edit that adds a line after a statement."""
    line = statement.end_lineno or statement.lineno
    row = module.lines[line - 1]
    if module.lines[statement.lineno - 1][: statement.col_offset].strip():
        raise CannotError(statement, f"it shares its line with other code; {_WAY}")
    if ";" in row[statement.end_col_offset or 0 :]:
        raise CannotError(statement, f"it shares its line with other code; {_WAY}")
    indent = module.lines[statement.lineno - 1][: statement.col_offset]
    return insert(module, line, len(row) + 1, f"\n{indent}{text}")
