"""Runs the statements of a script up to where its model is used.

What a statement assigns is not known if it cannot be computed; a branch that is taken or not
leaves a model known only if it is the same model either way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import MODULES, Opaque
from crosscast_reading.pysource.machine.frames import Variables
from crosscast_reading.pysource.machine.statements import LEAVE
from crosscast_reading.pysource.values import arithmetic
from crosscast_reading.pysource.values.budget import NoValueError

if TYPE_CHECKING:
    from crosscast_migrate.models.machine import ModelMachine
    from crosscast_reading.pysource.programs.module import Module

_MOST_IN_LOOP = 25_000
"""Expressions and statements of a loop that are computed: a loop that trains may be endless."""
_GROWS = frozenset(
    {
        *("add", "append", "extend", "insert", "pop", "update", "add_module", "add_sublayer"),
        "register_module",
    }
)
"""Methods that change a list or a container of layers."""
_BLOCKS = ("body", "orelse", "finalbody")


def run_before(
    machine: ModelMachine, body: Sequence[ast.stmt], node: ast.AST, frame: Variables
) -> None:
    """Run the statements before an expression, also in the blocks that it stands in."""
    around = set(_around(node, frame.module))
    for statement in body:
        if statement not in around:
            _run(machine, statement, frame)
            continue
        for block in _blocks(statement):
            if any(inner in around for inner in block):
                run_before(machine, block, node, frame)
        return


def _around(node: ast.AST, module: Module) -> Iterator[ast.AST]:
    here: ast.AST | None = node
    while here is not None:
        yield here
        here = module.parent(here)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in _BLOCKS:
        block = getattr(statement, name, None)
        if isinstance(block, list):
            yield block


def _run(machine: ModelMachine, statement: ast.stmt, frame: Variables) -> None:
    match statement:
        case ast.ClassDef() | ast.Import() | ast.ImportFrom() | ast.FunctionDef():
            return
        case ast.For() | ast.While():
            _loop(machine, statement, frame)
            return
        case ast.If():
            _branch(machine, statement, frame)
            return
        case ast.With(body=block) | ast.Try(body=block):
            for inner in block:
                _run(machine, inner, frame)
            return
    try:
        machine.run([statement], frame)
    except UnreadableError as error:
        _forget(machine, statement, frame, error)
    except LEAVE:
        pass


def _loop(machine: ModelMachine, statement: ast.stmt, frame: Variables) -> None:
    """Run a loop that makes layers; of another loop, what it changes is not known."""
    module = frame.module
    try:
        with machine.budget.at_most(_MOST_IN_LOOP):
            machine.run([statement], frame)
    except UnreadableError as error:
        _forget(machine, statement, frame, error)
        for inner in ast.walk(statement):
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
                word, root = inner.func.attr, _root(inner.func)
                if word in _GROWS and root in frame.names:
                    place = error.span or module.span(statement)
                    frame.names[root] = Opaque(error.reason, place, is_changed=True)
                elif word.endswith("_") and not word.startswith(("clip_", "zero_", "_")):
                    text = module.text(inner.func)[:60]
                    machine.graph.note(f"what {text} in a loop does to weights is not carried")
    except LEAVE:
        pass


def _branch(machine: ModelMachine, statement: ast.If, frame: Variables) -> None:
    module, names = frame.module, frame.names
    try:
        chosen = machine.decided(statement.test, frame)
    except UnreadableError as error:
        results = []
        for block in (statement.body, statement.orelse):
            inner = Variables(module, dict(names))
            for each in block:
                if _changes(each, inner.names):
                    _forget(machine, each, inner, error)
                else:
                    _run(machine, each, inner)
            results.append(inner.names)
        for name in results[0].keys() | results[1].keys():
            first, second = (result.get(name) for result in results)
            reason = f"{module.text(statement.test)[:60]}: a condition that is not known"
            changed = any(isinstance(r, Opaque) and r.is_changed for r in (first, second))
            unknown = Opaque(reason, module.span(statement), is_changed=changed)
            names[name] = first if _is_same(first, second) else unknown
        return
    for each in statement.body if chosen else statement.orelse:
        _run(machine, each, frame)


def _is_same(first: Any, second: Any) -> bool:
    if first is second or isinstance(first, MODULES):
        return first is second
    try:
        return bool(arithmetic.compare(ast.Eq, first, second))
    except NoValueError:
        return False


def _changes(statement: ast.stmt, names: dict[str, Any]) -> bool:
    """Whether a statement changes a part of a model."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    for target in targets:
        if not isinstance(target, ast.Name) and isinstance(names.get(_root(target)), MODULES):
            return True
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="add" | "append", value=held))):
            return isinstance(names.get(_root(held)), MODULES)
    return False


def _forget(
    machine: ModelMachine, statement: ast.stmt, frame: Variables, error: UnreadableError
) -> None:
    """Remember that what a statement assigns or changes is not known."""
    module, names = frame.module, frame.names
    for inner in ast.walk(statement):
        place = error.span or module.span(statement)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            names[inner.id] = Opaque(error.reason, place)
        elif isinstance(inner, ast.Attribute | ast.Subscript) and isinstance(inner.ctx, ast.Store):
            names[_root(inner)] = Opaque(error.reason, place, is_changed=True)
    match statement:
        case ast.Expr(value=ast.Call() as call):
            held = _root(call.func)
            text = module.text(call)[:60]
            if isinstance(names.get(held), MODULES):
                place = module.span(statement)
                names[held] = Opaque(f"{text}: {error.reason}", place, is_changed=True)
            elif any(isinstance(names.get(_root(given)), MODULES) for given in call.args):
                machine.graph.note(f"what {text} does to the model is not carried")


def _root(node: ast.expr) -> str:
    """Return the name that an attribute or entry belongs to."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
