"""Expressions of a program computed with names that have values.

Unlike `evaluate`, which returns what an expression is in every run, a `Machine` returns what it is
for given arguments. Only arithmetic, functions of `computing/functions.py` and functions of the
program are computed; anything else has no value.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from crosscast_reading.pysource.computing import functions, statements
from crosscast_reading.pysource.computing.frames import NOTHING, Closure, Variables, truth
from crosscast_reading.pysource.computing.functions import Array
from crosscast_reading.pysource.values import arithmetic
from crosscast_reading.pysource.values.arithmetic import NoValueError

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module

MAX_OPERATIONS = 400_000
_DEEPEST = 12


class World(Protocol):
    """What computed code reads from the program around it."""

    def read(self, node: ast.expr, module: Module) -> object:
        """Return what a name, attribute or entry is that the computed code does not assign.

        Raises:
            NoValueError: nothing is known of it.
        """
        ...

    def length(self, node: ast.expr, module: Module) -> int:
        """Return the length of something that has no value; raises like `read`."""
        ...


class Machine:
    """Computes expressions and functions; its operations are counted."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.limits: set[float] = set()
        """Whole numbers of arithmetic and comparisons, and lengths."""
        self._left = MAX_OPERATIONS
        self._depth = 0

    def value(self, node: ast.expr, module: Module, frame: Variables | None = None) -> object:
        """Return the value of an expression.

        Raises:
            NoValueError: it has none, or takes too many operations.
        """
        self.spend()
        if isinstance(node, ast.Constant):
            return node.value
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise NoValueError
        return handler(self, node, module, frame)

    def spend(self) -> None:
        """Count an operation."""
        self._left -= 1
        if self._left < 0:
            raise NoValueError

    def note(self, *numbers: object) -> None:
        """Keep whole numbers at which a result may change."""
        for number in numbers:
            if isinstance(number, int | float) and number > 1 and number % 1 == 0:
                self.limits.add(number)

    def call(
        self, closure: Closure, given: Sequence[object], named: Mapping[str, object] | None = None
    ) -> object:
        """Return what a function of the program returns; raises like `value`."""
        if self._depth >= _DEEPEST:
            raise NoValueError
        given = (*closure.given, *given)
        named = {**closure.named, **(named or {})}
        frame = Variables(closure.module, self._bind(closure, given, named), closure.frame)
        self._depth += 1
        try:
            if isinstance(closure.node, ast.Lambda):
                return self.value(closure.node.body, closure.module, frame)
            return statements.returned(self, closure.node.body, frame)
        finally:
            self._depth -= 1

    def _bind(
        self, closure: Closure, given: Sequence[object], named: Mapping[str, object]
    ) -> dict[str, object]:
        """Return the values of parameters; one without a value is found in the program."""
        args = closure.node.args
        parameters = [*args.posonlyargs, *args.args]
        if len(given) > len(parameters) or args.vararg is not None:
            raise NoValueError
        found: dict[str, object] = {
            parameter.arg: value for parameter, value in zip(parameters, given, strict=False)
        }
        known = {parameter.arg for parameter in (*parameters, *args.kwonlyargs)}
        if not named.keys() <= known:
            raise NoValueError
        found.update(named)
        optional = parameters[len(parameters) - len(args.defaults) :]
        for parameter, default in (
            *zip(optional, args.defaults, strict=True),
            *zip(args.kwonlyargs, args.kw_defaults, strict=True),
        ):
            if default is not None and parameter.arg not in found:
                found[parameter.arg] = self.value(default, closure.module, closure.frame)
        return found


def _name(machine: Machine, node: ast.Name, module: Module, frame: Variables | None) -> object:
    names = frame.find(node.id) if frame is not None else None
    if names is None:
        return machine.world.read(node, module)
    value = names[node.id]
    if value is NOTHING:
        raise NoValueError
    return value


def _attribute(
    machine: Machine, node: ast.Attribute, module: Module, frame: Variables | None
) -> object:
    return machine.world.read(node, module)


def _subscript(
    machine: Machine, node: ast.Subscript, module: Module, frame: Variables | None
) -> object:
    base = _or_nothing(machine, node.value, module, frame)
    if not isinstance(base, list | tuple | dict):
        return machine.world.read(node, module)
    if isinstance(node.slice, ast.Slice):
        parts = [
            machine.value(part, module, frame) if part is not None else None
            for part in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        return _part(base, slice(*parts))
    return _part(base, machine.value(node.slice, module, frame))


def _part(base: Any, key: Any) -> object:
    try:
        part = base[int(key) if isinstance(key, float) and key.is_integer() else key]
    except (LookupError, TypeError, ValueError):
        raise NoValueError from None
    return Array(part) if isinstance(base, Array) and isinstance(part, list) else part


def _binary(machine: Machine, node: ast.BinOp, module: Module, frame: Variables | None) -> object:
    left = machine.value(node.left, module, frame)
    right = machine.value(node.right, module, frame)
    if not isinstance(node.op, ast.Pow):
        machine.note(left, right)
    return functions.binary(type(node.op), left, right)


def _unary(machine: Machine, node: ast.UnaryOp, module: Module, frame: Variables | None) -> object:
    kind = type(node.op)
    value = machine.value(node.operand, module, frame)
    return functions.each(lambda a: arithmetic.unary(kind, a), value)


def _compare(
    machine: Machine, node: ast.Compare, module: Module, frame: Variables | None
) -> object:
    left = machine.value(node.left, module, frame)
    result: object = True
    for op, side in zip(node.ops, node.comparators, strict=True):
        right = machine.value(side, module, frame)
        machine.note(left, right)
        result = functions.compare(type(op), left, right)
        if isinstance(result, Array):
            return result
        if not result:
            return False
        left = right
    return result


def _boolean(machine: Machine, node: ast.BoolOp, module: Module, frame: Variables | None) -> object:
    decisive = isinstance(node.op, ast.Or)
    value: object = not decisive
    for part in node.values:
        value = machine.value(part, module, frame)
        if truth(value) == decisive:
            break
    return value


def _conditional(
    machine: Machine, node: ast.IfExp, module: Module, frame: Variables | None
) -> object:
    chosen = truth(machine.value(node.test, module, frame))
    return machine.value(node.body if chosen else node.orelse, module, frame)


def _sequence(
    machine: Machine, node: ast.List | ast.Tuple, module: Module, frame: Variables | None
) -> object:
    values = [machine.value(element, module, frame) for element in node.elts]
    return values if isinstance(node, ast.List) else tuple(values)


def _dictionary(
    machine: Machine, node: ast.Dict, module: Module, frame: Variables | None
) -> object:
    found: dict[object, object] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        name = machine.value(key, module, frame) if key is not None else NOTHING
        if not isinstance(name, str | int | float):
            raise NoValueError
        found[name] = machine.value(value, module, frame)
    return found


def _comprehension(
    machine: Machine, node: ast.ListComp | ast.GeneratorExp, module: Module, frame: Variables | None
) -> object:
    if len(node.generators) != 1:
        raise NoValueError
    loop = node.generators[0]
    values = machine.value(loop.iter, module, frame)
    if not isinstance(values, list | tuple):
        raise NoValueError
    inner = Variables(module, {}, frame)
    found: list[object] = []
    before, rounds = set(machine.limits), list[set[float]]()
    for value in values:
        machine.limits.clear()
        statements.assign(machine, loop.target, value, inner)
        if all(truth(machine.value(test, module, inner)) for test in loop.ifs):
            found.append(machine.value(node.elt, module, inner))
        if len(rounds) < 2:
            rounds.append(set(machine.limits))
    constant = set.intersection(*rounds) if rounds else set()
    machine.limits.clear()
    machine.limits.update(before | constant)  # the others are numbers of elements
    return found


def _lambda(machine: Machine, node: ast.Lambda, module: Module, frame: Variables | None) -> object:
    return Closure(node, module, frame)


def _call(machine: Machine, node: ast.Call, module: Module, frame: Variables | None) -> object:
    function = node.func
    held = frame.find(function.id) if isinstance(function, ast.Name) and frame else None
    if held is not None:
        closure = held[function.id]  # type: ignore[attr-defined]
        if not isinstance(closure, Closure):
            raise NoValueError
        return machine.call(closure, *_arguments(machine, node, module, frame))
    name = module.resolve(function)
    if name == "len" and len(node.args) == 1:
        return _length(machine, node.args[0], module, frame)
    if name == "functools.partial" and node.args:
        inner = machine.value(node.args[0], module, frame)
        given, named = _arguments(machine, node, module, frame, first=1)
        if not isinstance(inner, Closure):
            raise NoValueError
        return Closure(inner.node, inner.module, inner.frame, (*inner.given, *given), named)
    known = functions.function_named(name)
    if known is not None:
        given, named = _arguments(machine, node, module, frame)
        machine.note(*given, *named.values())
        return functions.call(known, given, named)
    if isinstance(function, ast.Attribute) and function.attr in ("item", "numpy", "float", "get"):
        return _method(machine, node, function, module, frame)
    program = module.program
    own = program.function(module.call(node))
    if own is None:
        return machine.world.read(node, module)
    given, named = _arguments(machine, node, module, frame)
    if _is_method(own[1], own[0], function):
        given = (NOTHING, *given)
    try:
        return machine.call(Closure(own[1], own[0]), given, named)
    except NoValueError:
        return machine.world.read(node, module)


def _is_method(node: Function, module: Module, function: ast.expr) -> bool:
    static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
    return module.class_of(node) is not None and isinstance(function, ast.Attribute) and not static


def _method(
    machine: Machine,
    node: ast.Call,
    function: ast.Attribute,
    module: Module,
    frame: Variables | None,
) -> object:
    """Return `tensor.item()`, or `d.get(key, default)`."""
    if function.attr != "get":
        return machine.value(function.value, module, frame)
    given, _ = _arguments(machine, node, module, frame)
    base = _or_nothing(machine, function.value, module, frame)
    if not isinstance(base, dict) or not given:
        return machine.world.read(node, module)
    return base.get(given[0], given[1] if len(given) > 1 else None)


def _length(machine: Machine, node: ast.expr, module: Module, frame: Variables | None) -> object:
    try:
        value = machine.value(node, module, frame)
    except NoValueError:
        return machine.world.length(node, module)
    if not isinstance(value, list | tuple | dict | str):
        return machine.world.length(node, module)
    machine.note(len(value))
    return len(value)


def _arguments(
    machine: Machine, node: ast.Call, module: Module, frame: Variables | None, *, first: int = 0
) -> tuple[tuple[object, ...], dict[str, object]]:
    """Return the arguments of a call; one without a value is `NOTHING`."""
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        raise NoValueError
    given = tuple(_or_nothing(machine, a, module, frame) for a in node.args[first:])
    named: dict[str, object] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise NoValueError
        named[keyword.arg] = _or_nothing(machine, keyword.value, module, frame)
    return given, named


def _or_nothing(
    machine: Machine, node: ast.expr, module: Module, frame: Variables | None
) -> object:
    try:
        return machine.value(node, module, frame)
    except NoValueError:
        return NOTHING


_HANDLERS: dict[type[ast.AST], Callable[..., object]] = {
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
    ast.Call: _call,
}
