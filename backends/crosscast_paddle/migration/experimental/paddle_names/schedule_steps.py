"""Schedules of fluid counted the calls of `minimize`; those of Paddle 3 count `step()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_paddle.migration.experimental.paddle_fluid import CannotError
from crosscast_paddle.migration.experimental.paddle_names.call_forms import is_constant
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import insert
from crosscast_reading.pysource.programs.module import Module

_WAY = "call step() of the schedule after each minimize"
_FIRST = {"noam_decay": 1, "NoamDecay": 1}


def stepped_schedule(module: Module, call: ast.Call) -> list[Edit]:
    """Return the edits that step a schedule after each `minimize`, whose optimizer may have it.

    Raises:
        CannotError: it counts otherwise, or where the optimizer steps is not certain.
    """
    _counts_from_start(module, call)
    if any(_computes_rate(other) for other in module.program.modules):
        raise CannotError(
            call,
            "step() of a schedule computed its rate without a count; write get_lr() of Paddle 3",
        )
    found = [pair for other in module.program.modules for pair in _minimized(other)]
    if not found:
        raise CannotError(call, f"no optimizer minimizes here; {_WAY}")
    others = [schedule for other in module.program.modules for schedule in _schedules(other, call)]
    (home, statement, function), *more = found
    name = _name(module, call, function) if home is module and not more and not others else ""
    if name:
        return [_after(home, statement, f"{name}.step()")]
    return [
        _after(home, statement, _step_of(home, function)) for home, statement, function in found
    ]


def _step_of(module: Module, minimize: ast.Attribute) -> str:
    """Return the lines that step the schedule of an optimizer, if it has one."""
    if not any(name.partition(".")[0] == "paddle" for name in module.imports.values()):
        raise CannotError(minimize, f"its file does not import paddle; {_WAY}")
    schedule = f"{module.text(minimize.value)}._learning_rate"
    return f"if isinstance({schedule}, paddle.optimizer.lr.LRScheduler):\n    {schedule}.step()"


def _computes_rate(module: Module) -> bool:
    """Whether `step()` of a schedule is called, which would count once more in Paddle 3."""
    for call in module.calls:
        receiver = call.receiver
        if call.method != "step" or receiver is None or module.is_dead(call.node):
            continue
        if isinstance(receiver, ast.Attribute) and receiver.attr == "_learning_rate":
            return True
        names = module.resolve_all(receiver)
        if any(n.startswith("paddle.fluid.") and n.lower().endswith("decay") for n in names):
            return True
    return False


def _counts_from_start(module: Module, call: ast.Call) -> None:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else module.text(call.func)
    for keyword in call.keywords:
        first = _FIRST.get(name, 0)
        if keyword.arg == "begin" and not is_constant(keyword.value, first):
            raise CannotError(call, f"it does not begin at {first}; give last_epoch=")
        if keyword.arg == "step" and not is_constant(keyword.value, 1):
            raise CannotError(call, f"it does not count by one; {_WAY}")


def _minimized(module: Module) -> Iterator[tuple[Module, ast.stmt, ast.Attribute]]:
    """Yield each statement `optimizer.minimize(loss)`, and its function."""
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
        yield module, statement, function


def _schedules(module: Module, call: ast.Call) -> Iterator[ast.Call]:
    """Yield the other schedules of the module."""
    for other in module.calls:
        name = other.method
        if other.node is not call and name.lower().replace("_", "").endswith("decay"):
            whole = other.name
            if ".dygraph." in whole or ".layers." in whole:
                yield other.node


def _name(module: Module, call: ast.Call, minimize: ast.Attribute) -> str:
    """Return the name of the schedule where `minimize` is called; empty if it has none there."""
    parent = module.parent(call)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return ""
    target = parent.targets[0]
    here, there = module.function_of(call), module.function_of(minimize)
    if not isinstance(target, ast.Name) or (here is not there and here is not None):
        return ""
    stored = [
        node
        for node in module.every(ast.Name)
        if node.id == target.id and isinstance(node.ctx, ast.Store)
    ]
    return target.id if len(stored) == 1 else ""


def _after(module: Module, statement: ast.stmt, text: str) -> Edit:
    """Return the edit that adds a line after a statement."""
    line = statement.end_lineno or statement.lineno
    row = module.lines[line - 1]
    if module.lines[statement.lineno - 1][: statement.col_offset].strip():
        raise CannotError(statement, f"it shares its line with other code; {_WAY}")
    if ";" in row[statement.end_col_offset or 0 :]:
        raise CannotError(statement, f"it shares its line with other code; {_WAY}")
    indent = module.lines[statement.lineno - 1][: statement.col_offset]
    lines = text.replace("\n", f"\n{indent}")
    return insert(module, line, len(row) + 1, f"\n{indent}{lines}")
