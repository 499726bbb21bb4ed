"""Whether an expression is a layer, or a weight, of a model of Keras."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.loop_optimizer import makers_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Path

WEIGHTS = (
    "trainable_variables", "trainable_weights", "non_trainable_variables",
    "non_trainable_weights", "variables", "weights",
)  # fmt: skip
_ORDERED = ("list", "tuple", "reversed", "sorted", "set")
_DEPTH = 4
Owned = Callable[[ast.expr, "Module"], bool]


def _any(_: ast.expr, __: Module) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Wanted:
    """A list that an object has as an attribute."""

    attributes: tuple[str, ...]
    owned: Owned = _any


def is_layer(node: ast.expr, module: Module, program: Program) -> bool:
    """Whether an expression certainly is a layer: of `model.layers`, of `get_layer`, or made."""
    if _taken_from(node, Wanted(("layers",)), module):
        return True
    if isinstance(node, ast.Call):
        return module.call(node).method == "get_layer"
    makers = makers_of(node, module)
    return bool(makers) and all(
        _makes_layer(name, program) for maker in makers or () for name in maker.names or ("",)
    )


def _makes_layer(name: str, program: Program) -> bool:
    scope = program.class_named(name)
    base = canonical(program.library_base(scope) if scope is not None else name)
    known = base.startswith("keras.layers.") and base.rpartition(".")[2][:1].isupper()
    return known or name.endswith(".get_layer")


def is_weight(node: ast.expr, module: Module, owned: Owned = _any) -> bool:
    """Whether an expression certainly is one of the weights of something.

    Args:
        node: the expression.
        module: of the node.
        owned: what the object that has the weights must be.
    """
    return _taken_from(node, Wanted(WEIGHTS, owned), module)


def _taken_from(node: ast.expr, wanted: Wanted, module: Module, depth: int = 0) -> bool:
    """Whether an expression is an element of a list that is such an attribute."""
    if depth > _DEPTH:
        return False
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        return _is_list(node.value, wanted, module, depth)
    if not isinstance(node, ast.Name):
        return False
    bindings = list(bindings_of(node.id, node, module))
    if not bindings or not all(binding.value is not None for binding in bindings):
        return False
    return all(
        _is_element(binding.value, binding.path, binding.kind, wanted, binding.module, depth)
        for binding in bindings
        if binding.value is not None
    )


def _is_element(
    value: ast.expr,
    path: Path,
    kind: str,
    wanted: Wanted,
    module: Module,
    depth: int,
) -> bool:
    if kind == "assign" and not path:
        return _taken_from(value, wanted, module, depth + 1)
    if kind != "loop":
        return False
    return any(_is_list(part, wanted, module, depth) for part in _elements(value, path))


def _elements(value: ast.expr, path: Path) -> Iterator[ast.expr]:
    """Yield the list whose elements a loop over `zip`, `enumerate` and the like binds."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        name, given = value.func.id, value.args
        if name == "enumerate" and path[:1] == (1,) and given:
            yield from _elements(given[0], path[1:])
            return
        if name == "zip" and path and isinstance(path[0], int) and path[0] < len(given):
            yield from _elements(given[path[0]], path[1:])
            return
    if not path:
        yield value


def _is_list(node: ast.expr, wanted: Wanted, module: Module, depth: int) -> bool:
    """Whether an expression is such an attribute, a part of it or a copy."""
    if depth > _DEPTH:
        return False
    match node:
        case ast.Attribute():
            return node.attr in wanted.attributes and wanted.owned(node.value, module)
        case ast.Subscript(slice=ast.Slice()):
            return _is_list(node.value, wanted, module, depth + 1)
        case ast.Call(func=ast.Name(id=name), args=[given, *_]) if name in _ORDERED:
            return _is_list(given, wanted, module, depth + 1)
        case ast.Name():
            bindings = list(bindings_of(node.id, node, module))
            return bool(bindings) and all(
                binding.assigned is not None
                and _is_list(binding.assigned, wanted, binding.module, depth + 1)
                for binding in bindings
            )
    return False
