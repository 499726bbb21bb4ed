"""Every kind of expression in a model, for the machine that computes it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from crosscast_migrate.models import calls, statements
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import (
    Dim,
    FunctionObject,
    Library,
    Opaque,
    SequenceObject,
    Sizes,
    Tensor,
    Training,
)
from crosscast_migrate.models.tensor_calls import combined, part_of_tensor, size_of
from crosscast_reading.pysource.computing import functions
from crosscast_reading.pysource.values import arithmetic
from crosscast_reading.pysource.values.arithmetic import NoValueError

if TYPE_CHECKING:
    from crosscast_migrate.models.machine import Machine, Names
    from crosscast_reading.pysource.programs.module import Module

_BUILT_IN = frozenset({"isinstance", "getattr", "hasattr", "print", "super", "setattr", "dict"})


def _constant(machine: Machine, node: ast.Constant, module: Module, names: Names) -> Any:
    return node.value


def _name(machine: Machine, node: ast.Name, module: Module, names: Names) -> Any:
    if node.id in names:
        found = names[node.id]
        if not isinstance(found, Opaque) or found.is_changed or found.is_cause:
            return found
        elsewhere = machine.outside(node, module)
        return found if isinstance(elsewhere, Opaque) else elsewhere
    if node.id in _BUILT_IN or functions.function_named(node.id) is not None:
        return Library(node.id)
    return machine.outside(node, module)


def _attribute(machine: Machine, node: ast.Attribute, module: Module, names: Names) -> Any:
    base = machine.value(node.value, module, names)
    if isinstance(base, Opaque) and base.is_cause:
        return base
    if not isinstance(base, Opaque | Library):
        return machine.attribute(base, node.attr, node, module)
    found = machine.outside(node, module)
    if isinstance(found, Opaque) and isinstance(base, Library):
        return machine.attribute(base, node.attr, node, module)
    return found


def _subscript(machine: Machine, node: ast.Subscript, module: Module, names: Names) -> Any:
    base = machine.value(node.value, module, names)
    if isinstance(base, Opaque):
        return base if base.is_cause else machine.outside(node, module)
    if isinstance(base, Tensor):
        return part_of_tensor(machine, base, node, module, names)
    if isinstance(node.slice, ast.Slice):
        bounds = [
            machine.certain(part, module, names) if part is not None else None
            for part in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        key: Any = slice(*bounds)
    else:
        key = machine.certain(node.slice, module, names)
    if isinstance(base, Sizes):
        return size_of(machine, base.tensor, key, node, module)
    if isinstance(base, SequenceObject):
        parts = [part for _, part in base.parts]
        if isinstance(key, slice):
            return SequenceObject(base.parts[key], base.is_model)
        base = dict(base.parts) if isinstance(key, str) else parts
    try:
        return base[key]
    except (TypeError, LookupError):
        text = module.text(node)[:60]
        raise UnreadableError(f"{text} is not known", module.span(node)) from None


def _binary(machine: Machine, node: ast.BinOp, module: Module, names: Names) -> Any:
    left = machine.value(node.left, module, names)
    right = machine.value(node.right, module, names)
    return combined(machine, type(node.op), left, right, node, module)


def _unary(machine: Machine, node: ast.UnaryOp, module: Module, names: Names) -> Any:
    if isinstance(node.op, ast.Not):
        held = machine.value(node.operand, module, names)
        if isinstance(held, Opaque | Tensor | Dim | Sizes | Training):
            return machine.opaque(node, module)
        return not held
    value = machine.value(node.operand, module, names)
    if isinstance(value, Tensor) and isinstance(node.op, ast.USub):
        return machine.graph.apply("scale", [value], {"scale": -1.0, "offset": 0.0})
    try:
        return arithmetic.unary(type(node.op), value)
    except NoValueError:
        return machine.opaque(node, module)


def _compare(machine: Machine, node: ast.Compare, module: Module, names: Names) -> Any:
    left = machine.value(node.left, module, names)
    for op, side in zip(node.ops, node.comparators, strict=True):
        right = machine.value(side, module, names)
        if isinstance(op, ast.Is | ast.IsNot) and right is None and not isinstance(left, Opaque):
            answer: Any = (left is None) == isinstance(op, ast.Is)
        elif any(isinstance(each, Opaque | Tensor | Dim) for each in (left, right)):
            return machine.opaque(node, module)
        else:
            try:
                answer = functions.compare(type(op), left, right)
            except NoValueError:
                return machine.opaque(node, module)
        if not answer:
            return False
        left = right
    return True


def _boolean(machine: Machine, node: ast.BoolOp, module: Module, names: Names) -> Any:
    decisive = isinstance(node.op, ast.Or)
    value: Any = not decisive
    for part in node.values:
        value = machine.value(part, module, names)
        if isinstance(value, Opaque | Tensor | Dim | Sizes | Training):
            return machine.opaque(node, module)
        if bool(value) == decisive:
            break
    return value


def _conditional(machine: Machine, node: ast.IfExp, module: Module, names: Names) -> Any:
    test = machine.value(node.test, module, names)
    if isinstance(test, Opaque | Tensor | Dim | Sizes | Training):
        return machine.opaque(node, module)
    return machine.value(node.body if test else node.orelse, module, names)


def _sequence(machine: Machine, node: ast.List | ast.Tuple, module: Module, names: Names) -> Any:
    values: list[Any] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            values += statements.iterated(machine, element.value, module, names)
        else:
            values.append(machine.value(element, module, names))
    return values if isinstance(node, ast.List) else tuple(values)


def _dictionary(machine: Machine, node: ast.Dict, module: Module, names: Names) -> Any:
    found: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            found.update(machine.certain(value, module, names))
        else:
            found[machine.certain(key, module, names)] = machine.value(value, module, names)
    return found


def _comprehension(
    machine: Machine, node: ast.ListComp | ast.GeneratorExp, module: Module, names: Names
) -> Any:
    found: list[Any] = []

    def loop(depth: int, inner: Names) -> None:
        if depth == len(node.generators):
            found.append(machine.value(node.elt, module, inner))
            return
        generator = node.generators[depth]
        for value in statements.iterated(machine, generator.iter, module, inner):
            statements.assign(machine, generator.target, value, module, inner)
            if all(machine.truth(test, module, inner) for test in generator.ifs):
                loop(depth + 1, inner)

    loop(0, dict(names))
    return found


def _lambda(machine: Machine, node: ast.Lambda, module: Module, names: Names) -> Any:
    return FunctionObject(node, module, None, names)


HANDLERS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _conditional,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Dict: _dictionary,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.Lambda: _lambda,
    ast.Call: calls.of_call,
}
