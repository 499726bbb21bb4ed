"""Uses of apex.amp as a value: tests of its parts, its loss scale, and helpers that save it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crosscast_reading.pysource.syntax.nodes import dotted_text, walk

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_PARTS = frozenset({"initialize", "scale_loss", "master_params", "state_dict", "load_state_dict"})
_STATE = frozenset({"state_dict", "load_state_dict"})
Kind = Literal["is there", "scale", "state"]


@dataclass(frozen=True, slots=True, eq=False)
class AmpValue:
    """One use of apex.amp as a value that has a successor."""

    module: Module
    home: ast.expr
    """The expression `amp` or `apex.amp`, or the attribute of it that is read."""
    node: ast.expr
    """The expression to replace."""
    kind: Kind
    """`is there`: true; `scale`: the loss scale; `state`: the scaler itself."""


def values_in(program: Program) -> Iterator[AmpValue]:
    """Yield the uses of apex.amp as a value that have a successor."""
    for module in program.modules:
        for node in module.nodes:
            if isinstance(node, ast.Name | ast.Attribute) and _is_amp(node, module):
                found = _value(node, module)
                if found is not None:
                    yield found


def _is_amp(node: ast.Name | ast.Attribute, module: Module) -> bool:
    if not isinstance(node.ctx, ast.Load):
        return False
    if isinstance(node, ast.Attribute):
        return dotted_text(node) == "apex.amp" and module.imports.get("apex", "") == "apex"
    return module.imports.get(node.id, "") == "apex.amp"


def _value(node: ast.expr, module: Module) -> AmpValue | None:
    parent = module.parent(node)
    match parent:
        case ast.Attribute(attr="__dict__"):
            test = module.parent(parent)
            match test:
                case ast.Compare(left=ast.Constant(value=str(word)), ops=[ast.In()]) if (
                    word in _PARTS
                ):
                    return AmpValue(module, parent, test, "is there")
        case ast.Call(
            func=ast.Name(id="hasattr"), args=[ast.expr() as first, ast.Constant(value=str(word))]
        ) if first is node and word in _PARTS:
            return AmpValue(module, node, parent, "is there")
        case ast.Attribute(attr="_amp_state"):
            return _scale(parent, module)
        case ast.keyword(arg=str(word)):
            call = module.parent(parent)
            if isinstance(call, ast.Call) and _saves(call, word, module):
                return AmpValue(module, node, node, "state")
    return None


def _scale(state: ast.Attribute, module: Module) -> AmpValue | None:
    """Return `amp._amp_state.loss_scalers[0].loss_scale()`, or the attribute behind it."""
    scalers = module.parent(state)
    first = module.parent(scalers) if scalers is not None else None
    last = module.parent(first) if first is not None else None
    match scalers, first, last:
        case (
            ast.Attribute(attr="loss_scalers"),
            ast.Subscript(slice=ast.Constant(value=0)),
            ast.Attribute(attr="loss_scale" | "_loss_scale" as word),
        ):
            call = module.parent(last)
            if word == "_loss_scale":
                return AmpValue(module, state, last, "scale")
            if isinstance(call, ast.Call) and call.func is last and not call.args:
                return AmpValue(module, state, call, "scale")
    return None


def _saves(call: ast.Call, word: str, module: Module) -> bool:
    """Whether a function of the program only saves or loads the state of an argument."""
    found = module.program.function(module.call(call))
    if found is None:
        return False
    function = found[1]
    names = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
    if word in names:
        return _only_state(function, word)
    rest = function.args.kwarg
    if rest is None:
        return False
    values = [name for loop in walk(function) if (name := _item_of(loop, rest.arg))]
    return bool(values) and all(_only_state(function, name) for name in values)


def _item_of(loop: ast.AST, rest: str) -> str:
    """Return `value` of `for key, value in rest.items()`."""
    match loop:
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(), ast.Name(id=value)]),
            iter=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="items")),
        ) if name == rest:
            return value
    return ""


def _only_state(function: Function, name: str) -> bool:
    """Whether nothing but the state is taken of a parameter; it may also be compared."""
    taken = [
        node.attr
        for node in walk(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
    ]
    passed = any(
        isinstance(node, ast.Call)
        and any(isinstance(part, ast.Name) and part.id == name for part in node.args)
        for node in walk(function)
    )
    return bool(taken) and set(taken) <= _STATE and not passed
