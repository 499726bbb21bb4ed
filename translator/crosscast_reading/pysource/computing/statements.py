"""Statements run by a machine: assignments, conditions and loops of a function that computes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.computing import functions
from crosscast_reading.pysource.computing.frames import NOTHING, Closure, Variables, truth
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.arithmetic import NoValueError

if TYPE_CHECKING:
    from crosscast_reading.pysource.computing.machine import Machine


class _ReturnError(Exception):
    """A `return` was reached."""

    def __init__(self, value: object) -> None:
        self.value = value


class _ReachedError(Exception):
    """The statement that is waited for was reached."""

    def __init__(self, value: object) -> None:
        self.value = value


class _LeaveError(Exception):
    """A `break` or `continue` was reached."""


class Slice:
    """The statements of a block that one of them depends on, and the value that is wanted of it.

    Args:
        body: the block.
        awaited: an assignment, or a call such as `rate.assign(value)`.
        value: what it gives; by default, the value of an assignment.
    """

    def __init__(
        self,
        body: Sequence[ast.stmt],
        awaited: ast.Assign | ast.AugAssign | ast.Expr,
        value: ast.expr | None = None,
    ) -> None:
        self.body = body
        self.awaited = awaited
        self.value = awaited.value if value is None else value
        nodes = [node for statement in body for node in walk(statement)]
        self.around = {node for node in nodes if any(inner is awaited for inner in walk(node))}
        """The assignment, and the statements that it stands in."""
        written = {node: _written(node) for node in nodes if isinstance(node, ast.stmt)}
        needed = _needed(written, self)
        self.kept = {
            node
            for node, names in written.items()
            if names & needed or isinstance(node, ast.Return | ast.Break | ast.Continue)
        } | self.around


def returned(machine: Machine, body: Sequence[ast.stmt], frame: Variables) -> object:
    """Return what a function returns.

    Raises:
        NoValueError: it has no value, or cannot be computed.
    """
    try:
        _run(machine, body, frame, None)
    except _ReturnError as end:
        return end.value
    return None


def assigned_at(machine: Machine, part: Slice, frame: Variables) -> object:
    """Return what an assignment assigns when it is first reached; raises like `returned`."""
    try:
        _run(machine, part.body, frame, part)
    except _ReachedError as end:
        return end.value
    except (_ReturnError, _LeaveError):
        pass
    raise NoValueError


def assign(machine: Machine, target: ast.expr, value: object, frame: Variables) -> None:
    """Assign a value to names; to anything else it is not remembered."""
    if isinstance(target, ast.Name):
        frame.names[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List):
        parts = value if isinstance(value, list | tuple) else ()
        fits = len(parts) == len(target.elts)
        for place, part in enumerate(target.elts):
            assign(machine, part, parts[place] if fits else NOTHING, frame)


def _needed(written: dict[ast.stmt, set[str]], part: Slice) -> set[str]:
    """Return the names that an assignment depends on, through others and their conditions."""
    needed = _read(part.value)
    while True:
        more = set(needed)
        for node, names in written.items():
            if node in part.around or names & needed:
                more |= _read_by(node)
        if more == needed:
            return needed
        needed = more


def _read_by(node: ast.stmt) -> set[str]:
    """Return the names that a statement itself reads."""
    match node:
        case ast.For(iter=header) | ast.If(test=header) | ast.While(test=header):
            return _read(header)
        case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.Expr(value=value):
            return _read(value)
        case ast.AnnAssign(value=ast.expr() as value):
            return _read(value)
    return set()


def _read(node: ast.AST) -> set[str]:
    return {inner.id for inner in walk(node) if isinstance(inner, ast.Name)}


def _written(node: ast.AST) -> set[str]:
    """Return the names that a statement assigns to, and the lists that it appends to."""
    found: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            found.add(inner.id)
        elif (name := _appended(inner)) is not None:
            found.add(name.id)
    return found


def _appended(node: ast.AST) -> ast.Name | None:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name() as name, attr="append" | "extend")):
            return name
    return None


def _run(machine: Machine, body: Sequence[ast.stmt], frame: Variables, part: Slice | None) -> None:
    """Run statements; of a slice only those that are kept."""
    for statement in body:
        machine.spend()
        if part is not None and statement is part.awaited:
            raise _ReachedError(_new_value(machine, part.awaited, part.value, frame))
        if part is None or statement in part.kept:
            _statement(machine, statement, frame, part)


def _new_value(
    machine: Machine,
    statement: ast.Assign | ast.AugAssign | ast.Expr,
    given: ast.expr,
    frame: Variables,
) -> object:
    value = machine.value(given, frame.module, frame)
    if not isinstance(statement, ast.AugAssign):
        return value
    before = machine.value(statement.target, frame.module, frame)
    return functions.binary(type(statement.op), before, value)


def _statement(
    machine: Machine,
    statement: ast.stmt,
    frame: Variables,
    part: Slice | None,
) -> None:
    match statement:
        case ast.Return(value=value):
            raise _ReturnError(machine.value(value, frame.module, frame) if value else None)
        case ast.Assign(targets=targets):
            made = _or_nothing(machine, statement, frame)
            for target in targets:
                assign(machine, target, made, frame)
        case ast.AugAssign(target=target):
            assign(machine, target, _or_nothing(machine, statement, frame), frame)
        case ast.AnnAssign(target=target, value=ast.expr() as given):
            assign(machine, target, _try(machine, given, frame), frame)
        case ast.If():
            _branch(machine, statement, frame, part)
        case ast.For():
            _loop(machine, statement, frame, part)
        case ast.While():
            _while(machine, statement, frame, part)
        case ast.With(body=inner):
            _run(machine, inner, frame, part)
        case ast.FunctionDef(name=name):
            frame.names[name] = Closure(statement, frame.module, frame)
        case ast.Break() | ast.Continue():
            raise _LeaveError(isinstance(statement, ast.Break))
        case ast.Expr(value=ast.Call() as call):
            _append(machine, call, frame)
        case ast.Raise() | ast.Try() | ast.Global() | ast.Nonlocal() | ast.Delete():
            raise NoValueError


def _append(machine: Machine, call: ast.Call, frame: Variables) -> None:
    name = _appended(call)
    if name is None:
        return  # a log
    names = frame.find(name.id)
    values = names[name.id] if names is not None else None
    if not isinstance(values, list) or len(call.args) != 1:
        return
    value = machine.value(call.args[0], frame.module, frame)
    several = isinstance(call.func, ast.Attribute) and call.func.attr == "extend"
    values.extend(value if several and isinstance(value, list) else [value])


def _or_nothing(
    machine: Machine, statement: ast.Assign | ast.AugAssign, frame: Variables
) -> object:
    try:
        return _new_value(machine, statement, statement.value, frame)
    except NoValueError:
        return NOTHING


def _try(machine: Machine, node: ast.expr, frame: Variables) -> object:
    try:
        return machine.value(node, frame.module, frame)
    except NoValueError:
        return NOTHING


def _branch(
    machine: Machine,
    statement: ast.If,
    frame: Variables,
    part: Slice | None,
) -> None:
    try:
        chosen: bool | None = truth(machine.value(statement.test, frame.module, frame))
    except NoValueError:
        chosen = None
    if chosen is None and part is not None and statement in part.around:
        chosen = any(inner in part.around for inner in statement.body)
    if chosen is None:
        if any(isinstance(inner, ast.Return) for inner in walk(statement)):
            raise NoValueError
        for name in _written(statement):
            frame.names[name] = NOTHING
        return
    _run(machine, statement.body if chosen else statement.orelse, frame, part)


def _loop(
    machine: Machine,
    statement: ast.For,
    frame: Variables,
    part: Slice | None,
) -> None:
    values = _try(machine, statement.iter, frame)
    if not isinstance(values, list | tuple):
        if part is None or statement not in part.around:
            for name in _written(statement):
                frame.names[name] = NOTHING
            return
        values = [NOTHING]  # the groups of an optimizer: every one gets the same
    for value in values:
        assign(machine, statement.target, value, frame)
        try:
            _run(machine, statement.body, frame, part)
        except _LeaveError as end:
            if end.args[0]:
                break


def _while(
    machine: Machine,
    statement: ast.While,
    frame: Variables,
    part: Slice | None,
) -> None:
    while truth(machine.value(statement.test, frame.module, frame)):
        try:
            _run(machine, statement.body, frame, part)
        except _LeaveError as end:
            if end.args[0]:
                break
