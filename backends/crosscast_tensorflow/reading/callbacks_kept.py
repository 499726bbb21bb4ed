"""Callbacks of Keras that change the learning rate and that no training gets."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.readers.python.library_calls import calls_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_SCHEDULES = ("keras.callbacks.ReduceLROnPlateau", "keras.callbacks.LearningRateScheduler")
_FITS = ("fit", "fit_generator")
_PUTS = ("append", "insert", "extend")
_UNNAMED = ("locals", "globals", "vars", "eval", "exec")


def not_given(program: Program) -> Iterator[tuple[Call, Call]]:
    """Yield the callbacks that only get into lists which nothing uses, and a call of `fit`."""
    for name, call in calls_of(program):
        if name not in _SCHEDULES:
            continue
        fits = [each for each in call.module.calls if each.method in _FITS]
        if fits and _is_kept(call):
            yield call, fits[0]


def _is_kept(call: Call) -> bool:
    """Whether a callback is bound to a name, and neither it nor a list with it is used."""
    module = call.module
    if any(isinstance(n, ast.Name) and n.id in _UNNAMED for n in module.nodes):
        return False
    queue, seen = [_put_into(call.node, module)], set()
    while queue:
        name = queue.pop()
        if name is None or _is_imported(name.id, module.program):
            return False
        home = module.scope_of(name).lookup(name.id)
        if (name.id, home) in seen:
            continue
        if home is not None and isinstance(home.node, ast.ClassDef):
            return False  # an attribute, which may be read anywhere: `self.callbacks`
        seen.add((name.id, home))
        for node in module.every(ast.Name):
            same = node.id == name.id and module.scope_of(node).lookup(node.id) is home
            if same and isinstance(node.ctx, ast.Load) and not _is_filled(node, module):
                queue.append(_put_into(node, module))
    return True


def _put_into(node: ast.expr, module: Module) -> ast.Name | None:
    """Return the name that a value gets, or that of a list it is put into; None: it is used."""
    match module.parent(node):
        case ast.Assign(targets=[ast.Name() as name]):
            return name
        case ast.List() as inside:
            return _put_into(inside, module)
        case ast.AugAssign(target=ast.Name() as name, op=ast.Add()):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name() as name, attr=method)) if method in _PUTS:
            return name
    return None


def _is_filled(node: ast.Name, module: Module) -> bool:
    """Whether something is only put into a list: `callbacks.append(stop)`."""
    match module.parent(node):
        case ast.Attribute(attr=method) as bound if method in _PUTS:
            call = module.parent(bound)
            return isinstance(call, ast.Call) and call.func is bound
    return False


def _is_imported(name: str, program: Program) -> bool:
    return any(
        alias.name in (name, "*")
        for module in program.modules
        for node in module.every(ast.ImportFrom)
        for alias in node.names
        if alias.name == name or program.find_module(node.module or "", module) is not None
    )
