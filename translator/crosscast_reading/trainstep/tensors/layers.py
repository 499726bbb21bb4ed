"""Which layers an attribute, a list of layers or a variable of a loop stands for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.libraries.precision_words import MixedPrecision
from crosscast_reading.pysource.libraries.public_names import HANDED_THROUGH
from crosscast_reading.pysource.libraries.words import all_words
from crosscast_reading.pysource.names.classes import lineage
from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.programs.scopes import Binding

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_SAME = frozenset({"to", "cuda", "train", "compile", "prepare", "requires_grad_", "apply"})
"""Methods that return the model that they are called on or given."""
_WRAPPERS = frozenset(name for words in all_words() for name in words.hidden_models)
_DEPTH = 6
_MOST = 48
"""Layers of one list, all of which are looked at."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer by the call that makes it."""

    name: str
    """Qualified name of its class."""
    call: ast.Call
    module: Module


def layers_of(node: ast.expr, module: Module, depth: int = 0) -> list[Layer]:
    """Return the layers or lists that an expression can be; empty if one of them is unknown."""
    layers: list[Layer] = []
    for expression, where in chase(node, module):
        if isinstance(expression, ast.Call):
            layers += _made_by(expression, where, depth)
        if len(layers) > _MOST:
            break
    return list(dict.fromkeys(layers)) or _entries(node, module, depth)


def _entries(node: ast.expr, module: Module, depth: int) -> list[Layer]:
    """Return the layers of an entry of a dictionary: `self.parts.blocks`, `parts["blocks"]`."""
    match node:
        case ast.Attribute(value=inner, attr=key):
            pass
        case ast.Subscript(value=inner, slice=ast.Constant(value=str(key))):
            pass
        case _:
            return []
    if depth > _DEPTH or isinstance(inner, ast.Name):
        return []
    return [
        layer
        for holder in layers_of(inner, module, depth + 1)
        for entry in _values(holder.call.args, key)
        for layer in layers_of(entry, holder.module, depth + 1)
    ]


def _values(given: list[ast.expr], key: str) -> Iterator[ast.expr]:
    """Yield the entry of a dictionary under a key: `dict(blocks=…)`, `{"blocks": …}`."""
    match given:
        case [ast.Call(func=ast.Name(id="dict"), keywords=named)]:
            yield from (each.value for each in named if each.arg == key)
        case [ast.Dict(keys=keys, values=values)]:
            for name, value in zip(keys, values, strict=True):
                if isinstance(name, ast.Constant) and name.value == key:
                    yield value


def _made_by(call: ast.Call, module: Module, depth: int) -> list[Layer]:
    if depth > _DEPTH:
        return []
    function = call.func
    names = module.call(call).names
    handed = any(name in HANDED_THROUGH for name in names)
    if isinstance(function, ast.Attribute) and function.attr in _SAME and not handed:
        inner = [function.value, *call.args[:1]] if function.attr == "prepare" else [function.value]
        return [layer for each in inner for layer in layers_of(each, module, depth + 1)]
    layers: list[Layer] = []
    for name in names or tuple(_given_classes(function, module)):
        if (name in HANDED_THROUGH or name in _WRAPPERS) and call.args:
            layers += layers_of(call.args[0], module, depth + 1)
        elif name:
            layers.append(Layer(name, call, module))
    return layers


def _given_classes(node: ast.expr, module: Module) -> Iterator[str]:
    """Yield the classes that callers give for a parameter, or its default: `norm_layer(width)`."""
    for expression, where in chase(node, module):
        match expression:
            case ast.Name() | ast.Attribute():
                yield from filter(None, where.resolve_all(expression))
                for binding in definitions(expression, where):
                    default = _default(binding)
                    if default is not None:
                        yield from filter(None, where.resolve_all(default))
            case ast.Call(args=[made, *_]) if where.resolve(expression.func) == "functools.partial":
                yield from filter(None, where.resolve_all(made))


def _default(binding: Binding) -> ast.expr | None:
    """Return the default of a parameter."""
    function = binding.scope.node
    if binding.kind != "parameter" or not isinstance(function, ast.FunctionDef):
        return None
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(reversed(plain), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return next((default for parameter, default in pairs if parameter is binding.node), None)


def elements(layer: Layer, table: MixedPrecision, depth: int = 0) -> list[Layer | list[Layer]]:
    """Return the layers of a list or chain, in order; a list of its own for one of several parts.

    `ModuleList([Block(), Block()])`, `Sequential(a, b)`, `ModuleList(Block() for _ in range(n))`.
    """
    items: list[Layer | list[Layer]] = []
    for given, module in _given(layer):
        for made in layers_of(given, module, depth + 1):
            inner = elements(made, table, depth + 1) if _holds(made, table, depth) else []
            if inner and re.fullmatch(table.lists, made.name):
                items.append([each for each in inner if isinstance(each, Layer)])
            else:
                items.append(made)
    return items[:_MOST]


def _holds(layer: Layer, table: MixedPrecision, depth: int) -> bool:
    return depth < _DEPTH and bool(re.fullmatch(table.lists, layer.name))


def _given(layer: Layer) -> Iterator[tuple[ast.expr, Module]]:
    """Yield the expressions of the layers of a list."""
    for argument in layer.call.args:
        yield from _items(argument, layer.module)
    target = _assigned_to(layer)
    yield from _appended(layer.module).get(target, ()) if target else ()


def _items(node: ast.expr, module: Module, depth: int = 0) -> Iterator[tuple[ast.expr, Module]]:
    if depth > _DEPTH:
        return
    match node:
        case ast.Starred(value=inner):
            yield from _items(inner, module, depth + 1)
        case ast.ListComp(elt=inner) | ast.GeneratorExp(elt=inner):
            yield inner, module
        case ast.List(elts=inner) | ast.Tuple(elts=inner):
            for each in inner:
                yield from _items(each, module, depth + 1)
        case ast.BinOp(left=ast.List() as inner, op=ast.Mult()):
            yield from _items(inner, module, depth + 1)
        case ast.Name():
            for value, where in chase(node, module):
                if isinstance(value, ast.List | ast.ListComp | ast.Tuple):
                    yield from _items(value, where, depth + 1)
                elif isinstance(value, ast.Call):
                    yield value, where
            yield from _appended(module).get(node.id, ())
        case ast.Call() | ast.Attribute() | ast.Subscript() | ast.IfExp():
            yield node, module


def _assigned_to(layer: Layer) -> str:
    match layer.module.parent(layer.call):
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            return layer.module.text(target)
    return ""


@once
def _appended(module: Module) -> dict[str, list[tuple[ast.expr, Module]]]:
    """Return the items put into lists by the text of the list: `layers.append(Block())`."""
    lists: dict[str, list[tuple[ast.expr, Module]]] = {}
    for call in module.calls:
        if call.method == "append" and len(call.node.args) == 1 and call.receiver is not None:
            lists.setdefault(call.receiver_text, []).append((call.node.args[0], module))
    return lists


def method_of(
    program: Program, name: str, methods: tuple[str, ...]
) -> tuple[Module, Function] | None:
    """Return the first of some methods that a class of the program, or a base of it, defines."""
    scope = program.class_named(name) if ":" in name else None
    for here in lineage(program, scope) if scope is not None else ():
        for method in methods:
            function = here.module.functions.get(f"{here.qualname}.{method}")
            if function is not None:
                return here.module, function
    return None
