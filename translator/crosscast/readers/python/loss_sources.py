"""Follows a loss from where it is differentiated to the calls of libraries that compute it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast.pysource.names.containers import definitions, entry
from crosscast.pysource.programs.evaluate import evaluate
from crosscast.pysource.programs.once import once
from crosscast.pysource.programs.scopes import Binding, path_of
from crosscast.pysource.values.value import Instance
from crosscast.readers.python.conditions import conditions
from crosscast.readers.python.default_conditions import holds_by_default
from crosscast.readers.python.library_calls import canonical, last
from crosscast.readers.python.loss_kinds import (
    Found,
    gives_probabilities,
    loss_of_call,
    loss_of_value,
)

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Function, Module

_DEEPEST = 8
_CASTS = frozenset({"float", "cast", "to", "squeeze"})
_REDUCES = frozenset({"mean", "sum", "reduce_mean", "reduce_sum", *_CASTS})
_SCALES = frozenset({"scale", "get_scaled_loss", "scale_loss"})
_REDUCED = re.compile(
    r"(?:tensorflow|torch|paddle)\.(?:math\.|fluid\.layers\.)?(?:reduce_)?(?:mean|sum)"
)
_FACTOR = re.compile(r"paddle\.(?:fluid\.layers\.)?scale")
"""A function that multiplies, unlike the method of a scaler."""
_LOSS_SCALE = re.compile(r"(?:\w+\.)*\w{0,60}loss_?scal(?:e|ing)\w{0,60}", re.I)
"""A factor that scales a loss by hand."""
_DIVIDED = re.compile(r"/ *(?:float\()?[\w.]{0,60}loss_?scal", re.I)
"""Where gradients are divided by it again."""
_MANY = 8
"""From how many values of a name on what they come from is kept."""
_DATA = frozenset({"x", "input", "input_tensor"})
Seen = dict[tuple[ast.expr, str | int | None], list[Found]]
"""What values, or the entries of containers, come from; empty while it is being followed."""


def sources(node: ast.expr, module: Module) -> list[Found]:
    """Return what the value of a loss comes from."""
    return _sources(node, module, 0, {})


def returned_sources(module: Module, function: Function, key: str | int) -> list[Found]:
    """Return what the losses come from that a function returns, nothing where it returns nothing.

    Args:
        module: The module of the function.
        function: The function.
        key: The entry with the loss where a container is returned.
    """
    found: list[Found] = []
    for node in _returns(module, function):
        match node:
            case None | ast.Constant(value=None):
                pass
            case _:
                found += _given_back(node, module, key)
    return found


def _given_back(node: ast.expr, module: Module, key: str | int) -> list[Found]:
    if isinstance(node, ast.IfExp):
        branches = (node.body, node.orelse)
        return [found for each in branches for found in _given_back(each, module, key)]
    return _part(node, module, key, 0, {}) or _sources(node, module, 0, {})


def _sources(node: ast.expr, module: Module, depth: int, seen: Seen) -> list[Found]:
    """Return what the value of a loss comes from; empty while it is being followed."""
    if (node, None) not in seen:
        seen[node, None] = []
        seen[node, None] = _distinct(_sources_of(node, module, depth, seen))
    return seen[node, None]


def _distinct(found: list[Found]) -> list[Found]:
    return list(dict.fromkeys(found))


def _sources_of(node: ast.expr, module: Module, depth: int, seen: Seen) -> list[Found]:
    other = [Found("", module.text(node), module.span(node))]
    if depth > _DEEPEST:
        return other
    match node:
        case ast.BinOp(left=left, op=ast.Div()):
            return _sources(left, module, depth + 1, seen)
        case ast.Name() | ast.Attribute():
            return _of_name(node, module, depth, seen) or other
        case ast.Subscript(value=value, slice=ast.Constant(value=str() | int() as key)):
            if _is_assigned(value, key, module):
                return _of_name(node, module, depth, seen) or other
            return _part(value, module, key, depth, seen) or other
        case ast.IfExp(body=body, orelse=orelse):
            first = _sources(body, module, depth + 1, seen)
            return first + _sources(orelse, module, depth + 1, seen)
        case ast.Call():
            return _of_call(node, module, depth, seen) or other
    return other


def _of_name(node: ast.expr, module: Module, depth: int, seen: Seen) -> list[Found]:
    bindings = definitions(node, module)
    if depth > 1 or len(bindings) < _MANY:
        return _of_bindings(bindings, depth, seen)
    known = _of_many(module)
    key = depth, tuple((each.node, each.path) for each in bindings)
    if key not in known:
        known[key] = []
        known[key] = _of_bindings(bindings, depth, {})
    return known[key]


@once
def _of_many(module: Module) -> dict[object, list[Found]]:
    """Return what was found so far: all loops of a module that share a name ask for the same."""
    return {}


def _of_bindings(bindings: Iterable[Binding], depth: int, seen: Seen) -> list[Found]:
    found: list[Found] = []
    for binding in bindings:
        match binding:
            case Binding(kind="augment", node=ast.AugAssign(op=ast.Div())):
                pass
            case Binding(kind="augment", node=ast.AugAssign(op=ast.Mult(), value=factor)) if (
                _is_loss_scale(factor, binding.module)
            ):
                pass
            case Binding(kind="assign" | "with", value=ast.expr() as value, path=()):
                found += _sources(value, binding.module, depth + 1, seen)
            case Binding(kind="assign" | "with", value=ast.expr() as value, path=(place,)):
                part = _part(value, binding.module, place, depth + 1, seen)
                if not part:
                    return []
                found += part
            case Binding(kind="parameter", node=ast.arg()):
                given = _given(binding, depth, seen)
                if not given:
                    return []
                found += given
            case _:
                return []
    return found


def _is_loss_scale(factor: ast.expr, module: Module) -> bool:
    """Whether a factor is a loss scale that the program divides out again, and not a weight."""
    if not _LOSS_SCALE.fullmatch(module.text(factor)):
        return False
    return any(_DIVIDED.search(each.source.text) for each in module.program.modules)


def _given(binding: Binding, depth: int, seen: Seen) -> list[Found]:
    """Return what the calls of a function give for a parameter; empty if one is not followed."""
    program, function = binding.module.program, binding.scope.node
    if not isinstance(function, ast.FunctionDef) or not isinstance(binding.node, ast.arg):
        return []
    given = program.arguments_for(binding)
    if len(given) != len(program.call_sites(binding.module, function)):
        return []
    return _all([_sources(value, where, depth + 1, seen) for value, where in given])


def _part(node: ast.expr, module: Module, key: str | int, depth: int, seen: Seen) -> list[Found]:
    """Return what an entry of a container comes from; empty if any of its values is unknown."""
    if (node, key) not in seen:
        seen[node, key] = []
        seen[node, key] = _distinct(_part_of(node, module, key, depth, seen))
    return seen[node, key]


def _part_of(node: ast.expr, module: Module, key: str | int, depth: int, seen: Seen) -> list[Found]:
    if depth > _DEEPEST:
        return []
    match node:
        case ast.Tuple() | ast.List() | ast.Dict():
            parts = entry(node, module, key, attribute=False)
            return [f for each, where in parts for f in _sources(each, where, depth + 1, seen)]
        case ast.Name() if not _is_assigned(node, key, module):
            bindings = definitions(node, module)
            return _all([_part_assigned(each, key, depth, seen) for each in bindings])
        case ast.Call():
            return _part_returned(node, module, key, depth, seen)
    return []


def _part_assigned(binding: Binding, key: str | int, depth: int, seen: Seen) -> list[Found]:
    match binding:
        case Binding(kind="assign", value=ast.expr() as value, path=()):
            return _part(value, binding.module, key, depth + 1, seen)
    return []


def _part_returned(
    node: ast.Call, module: Module, key: str | int, depth: int, seen: Seen
) -> list[Found]:
    call = module.call(node)
    loss = loss_of_call(call)
    if loss is not None:
        return [loss] if key == 0 and gives_probabilities(call) else []
    function = module.program.function(call)
    if function is None:
        parts = entry(node, module, key, attribute=False)
        return [f for each, where in parts for f in _sources(each, where, depth + 1, seen)]
    where, owner = function
    returned = filter(None, _returns(where, owner))
    return _all([_part(each, where, key, depth + 1, seen) for each in returned])


def _all(parts: list[list[Found]]) -> list[Found]:
    """Return all parts in one list; empty if one of them is."""
    return [found for part in parts for found in part] if all(parts) else []


def _is_assigned(node: ast.expr, key: str | int, module: Module) -> bool:
    """Whether an entry of a container is assigned to by itself."""
    path = path_of(node)
    return path is not None and (path[0], (*path[1], key)) in module.path_homes


def _of_call(node: ast.Call, module: Module, depth: int, seen: Seen) -> list[Found]:
    call = module.call(node)
    loss = loss_of_call(call)
    if loss is not None:
        return [] if gives_probabilities(call) else [loss]
    made = evaluate(node.func, module)
    if isinstance(made, Instance):
        return [loss_of_value(made, node, module)]
    function = module.program.function(call)
    if function is not None:
        return _returned(*function, depth, seen)
    return _of_method(call, depth, seen)


def _of_method(call: Call, depth: int, seen: Seen) -> list[Found]:
    """Return what a loss comes from that is reduced, cast or scaled by a scaler."""
    node, module, attribute = call.node, call.module, call.method
    names = tuple(map(canonical, call.names))
    first = next((each for name, each in call.bound().items() if name in _DATA), None)
    first = node.args[0] if node.args else first
    if first is not None and any(map(_REDUCED.fullmatch, names)):
        whole = len(node.args) < 2 and not call.bound().keys() - _DATA - {"name"}
        found = _sources(first, module, depth + 1, seen)
        return [_reduced(loss, last(names[0]), whole) for loss in found]
    if first is not None and attribute in _SCALES and not any(map(_FACTOR.fullmatch, names)):
        return _sources(first, module, depth + 1, seen)
    if attribute in _REDUCES and call.receiver is not None:
        found = _sources(call.receiver, module, depth + 1, seen)
        whole = not node.args and not node.keywords
        return [_reduced(loss, attribute, whole) for loss in found]
    return []


def _reduced(found: Found, by: str, whole: bool) -> Found:
    """Return a loss after a function that may reduce it."""
    if not found.by_element or by in _CASTS:
        return found
    if by in ("mean", "reduce_mean") and whole:
        return replace(found, by_element=False)
    return Found("", found.text, found.place)


def _returned(module: Module, function: ast.AST, depth: int, seen: Seen) -> list[Found]:
    """Return what a function of the program returns, if every return is followed."""
    found: list[Found] = []
    for node in _returns(module, function):
        if node is None:
            return []
        found += _sources(node, module, depth + 1, seen)
    return found


def _returns(module: Module, function: ast.AST) -> Iterator[ast.expr | None]:
    """Yield the values that a function returns, but not where it never does by default."""
    scope = module.scopes.get(function)
    for node in getattr(scope, "returns", ()):
        around = conditions(node, module, callers=False)
        if not any(holds_by_default(test) is False for test in around):
            yield node.value
