"""Runs the statements of a script up to where its model is used.

What a statement assigns is not known if it cannot be computed; a branch that is taken or not
leaves a model known only if it is the same model either way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast_migrate.models import statements
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import MODULES, Opaque

if TYPE_CHECKING:
    from crosscast_migrate.models.machine import Machine, Names
    from crosscast_reading.pysource.programs.module import Module

_MOST_IN_LOOP = 20_000
"""Expressions of a loop that are computed: a loop that trains may be endless."""
_GROWS = frozenset(
    {
        *("add", "append", "extend", "insert", "pop", "update", "add_module", "add_sublayer"),
        "register_module",
    }
)
"""Methods that change a list or a container of layers."""
_BLOCKS = ("body", "orelse", "finalbody")


def run_before(
    machine: Machine, body: Sequence[ast.stmt], node: ast.AST, module: Module, names: Names
) -> None:
    """Run the statements before an expression, also in the blocks that it stands in."""
    around = set(_around(node, module))
    for statement in body:
        if statement not in around:
            _run(machine, statement, module, names)
            continue
        for block in _blocks(statement):
            if any(inner in around for inner in block):
                run_before(machine, block, node, module, names)
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


def _run(machine: Machine, statement: ast.stmt, module: Module, names: Names) -> None:
    match statement:
        case ast.ClassDef() | ast.Import() | ast.ImportFrom() | ast.FunctionDef():
            return
        case ast.For() | ast.While():
            _loop(machine, statement, module, names)
            return
        case ast.If():
            _branch(machine, statement, module, names)
            return
        case ast.With(body=block) | ast.Try(body=block):
            for inner in block:
                _run(machine, inner, module, names)
            return
    try:
        statements.run(machine, [statement], module, names)
    except UnreadableError as error:
        _forget(machine, statement, module, names, error)
    except statements.LEAVE:
        pass


def _loop(machine: Machine, statement: ast.stmt, module: Module, names: Names) -> None:
    """Run a loop that makes layers; of another loop, what it changes is not known."""
    before = machine.left
    machine.left = min(before, _MOST_IN_LOOP)
    try:
        statements.run(machine, [statement], module, names)
    except UnreadableError as error:
        _forget(machine, statement, module, names, error)
        for inner in ast.walk(statement):
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
                word, root = inner.func.attr, _root(inner.func)
                if word in _GROWS and root in names:
                    place = error.span or module.span(statement)
                    names[root] = Opaque(error.reason, place, is_changed=True)
                elif word.endswith("_") and not word.startswith(("clip_", "zero_", "_")):
                    text = module.text(inner.func)[:60]
                    machine.graph.note(f"what {text} in a loop does to weights is not carried")
    except statements.LEAVE:
        pass
    finally:
        machine.left = before


def _branch(machine: Machine, statement: ast.If, module: Module, names: Names) -> None:
    try:
        chosen = machine.truth(statement.test, module, names)
    except UnreadableError as error:
        results = []
        for block in (statement.body, statement.orelse):
            inner = dict(names)
            for each in block:
                if _changes(each, inner):
                    _forget(machine, each, module, inner, error)
                else:
                    _run(machine, each, module, inner)
            results.append(inner)
        for name in results[0].keys() | results[1].keys():
            first, second = (result.get(name) for result in results)
            same = first is second or (not isinstance(first, MODULES) and first == second)
            reason = f"{module.text(statement.test)[:60]}: a condition that is not known"
            changed = any(isinstance(r, Opaque) and r.is_changed for r in (first, second))
            unknown = Opaque(reason, module.span(statement), is_changed=changed)
            names[name] = first if same else unknown
        return
    for each in statement.body if chosen else statement.orelse:
        _run(machine, each, module, names)


def _changes(statement: ast.stmt, names: Names) -> bool:
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
    machine: Machine, statement: ast.stmt, module: Module, names: Names, error: UnreadableError
) -> None:
    """Remember that what a statement assigns or changes is not known."""
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
