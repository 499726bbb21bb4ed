"""Computes the constructor and the forward pass of a model, as far as they are certain.

Nothing of the source is run: expressions are computed on plain values, on layers of the tables and
on values of the forward pass, which have no content. Whatever else the model depends on ends the
reading.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crosscast.migrate.models import calls, known_models, statements
from crosscast.migrate.models.graph import Graph
from crosscast.migrate.models.network import UnreadableError
from crosscast.migrate.models.objects import (
    ClassObject,
    Dim,
    FunctionObject,
    LayerObject,
    Library,
    ModuleObject,
    Opaque,
    SequenceObject,
    Sizes,
    Tensor,
    Training,
    Weight,
)
from crosscast.migrate.models.tables import Tables
from crosscast.pysource.computing import functions
from crosscast.pysource.programs.evaluate import evaluate
from crosscast.pysource.values import arithmetic
from crosscast.pysource.values.arithmetic import NoValueError
from crosscast.pysource.values.value import Instance, Known, Symbol, Value
from crosscast.readers.python.library_calls import canonical

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Module
    from crosscast.pysource.programs.program import Program
    from crosscast.pysource.programs.scopes import Scope

_MOST = 200_000
_DEEPEST = 40
_NOTHING = object()
_OPERATORS = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}
_BUILT_IN = frozenset({"isinstance", "getattr", "hasattr", "print", "super", "setattr", "dict"})
Names = dict[str, Any]


class Machine:
    """Computes with the names of one function after the other."""

    def __init__(self, program: Program, tables: Tables, graph: Graph) -> None:
        self.program = program
        self.tables = tables
        self.graph = graph
        self._left = _MOST
        self._depth = 0
        self.input_names: dict[int, str] = {}
        """Number of an input to the name that the source gives it."""
        self._made: dict[ast.AST, Any] = {}

    # ---- expressions

    def value(self, node: ast.expr, module: Module, names: Names) -> Any:
        """Return what an expression is; `Opaque` for something that is not known.

        Raises:
            UnreadableError: the model depends on something that is not known.
        """
        self._left -= 1
        if self._left < 0:
            raise UnreadableError("the model takes too long to read", module.span(node))
        handler = _HANDLERS.get(type(node))
        if handler is None:
            return self.opaque(node, module)
        return handler(self, node, module, names)

    def opaque(self, node: ast.AST, module: Module) -> Opaque:
        """Return something that is not known."""
        return Opaque(f"{module.text(node)[:80]} is not known", module.span(node))

    def certain(self, node: ast.expr, module: Module, names: Names) -> Any:
        """Return what an expression is; raises if that is not known."""
        found = self.value(node, module, names)
        if isinstance(found, Opaque):
            raise UnreadableError(found.text, found.span)
        return found

    def truth(self, node: ast.expr, module: Module, names: Names) -> bool:
        """Return whether a condition holds; raises if that is not known."""
        found = self.certain(node, module, names)
        if isinstance(found, Tensor | Dim | Sizes | Training):
            text = module.text(node)[:60]
            raise UnreadableError(
                f"a condition is known only when it runs: {text}", module.span(node)
            )
        return bool(found)

    def outside(self, node: ast.expr, module: Module) -> Any:
        """Return what a name is that the functions computed here do not assign."""
        return self.plain(evaluate(node, module), node, module)

    def plain(self, value: Value | Any, node: ast.expr, module: Module) -> Any:
        """Return a value of the program as one of the reader."""
        match value:
            case Known(value=content):
                return self._content(content, node, module)
            case Symbol(name=name):
                return self.named(name, node, module)
            case Instance(call=made):
                return self._instance(made)  # type: ignore[arg-type]
        name = module.resolve(node)
        return self.named(name, node, module) if name else self.opaque(node, module)

    def _content(self, content: Any, node: ast.expr, module: Module) -> Any:
        match content:
            case list() | tuple():
                return type(content)(self._content(part, node, module) for part in content)
            case dict():
                return {key: self._content(part, node, module) for key, part in content.items()}
            case Known() | Symbol() | Instance():
                return self.plain(content, node, module)
            case None | bool() | int() | float() | str():
                return content
        return self.opaque(node, module)

    def named(self, name: str, node: ast.expr, module: Module) -> Any:
        """Return what a qualified name stands for."""
        if ":" not in name:
            return Library(canonical(name)) if name else self.opaque(node, module)
        scope = self.program.class_named(name)
        if scope is not None:
            return ClassObject(scope)
        function = self.program.function_named(name)
        if function is not None:
            return FunctionObject(function[1], function[0])
        return self.opaque(node, module)

    def _instance(self, made: Call) -> Any:
        if made.node not in self._made:
            self._made[made.node] = self.opaque(made.node, made.module)
            self._made[made.node] = self.value(made.node, made.module, {})
        return self._made[made.node]

    # ---- functions and classes of the program

    def run(
        self,
        function: FunctionObject,
        given: Sequence[Any],
        named: Mapping[str, Any],
    ) -> Any:
        """Return what a function of the program returns."""
        if self._depth >= _DEEPEST:
            raise UnreadableError("functions call each other too deeply")
        names = {**function.names, **self._parameters(function, given, named)}
        self._depth += 1
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body, function.module, names)
            return statements.returned(self, function.node.body, function.module, names)
        finally:
            self._depth -= 1

    def _parameters(
        self, function: FunctionObject, given: Sequence[Any], named: Mapping[str, Any]
    ) -> Names:
        args, module = function.node.args, function.module
        parameters = [*args.posonlyargs, *args.args]
        values = [function.bound, *given] if function.bound is not None else list(given)
        found: Names = dict(zip((p.arg for p in parameters), values, strict=False))
        rest = values[len(parameters) :]
        if args.vararg is not None:
            found[args.vararg.arg] = tuple(rest)
        elif rest:
            raise UnreadableError("a call has too many arguments", module.span(function.node))
        known = {p.arg for p in (*parameters, *args.kwonlyargs)}
        extra = {name: value for name, value in named.items() if name not in known}
        found.update({name: value for name, value in named.items() if name in known})
        if args.kwarg is not None:
            found[args.kwarg.arg] = extra
        elif extra:
            raise UnreadableError(f"no parameter {min(extra)}", module.span(function.node))
        optional = parameters[len(parameters) - len(args.defaults) :]
        for parameter, default in (
            *zip(optional, args.defaults, strict=True),
            *zip(args.kwonlyargs, args.kw_defaults, strict=True),
        ):
            if default is not None and parameter.arg not in found:
                found[parameter.arg] = self.value(default, module, {})
        for parameter in (*parameters, *args.kwonlyargs):
            found.setdefault(parameter.arg, Opaque(parameter.arg, module.span(parameter)))
        return found

    def method(self, scope: Scope, name: str) -> FunctionObject | None:
        """Return a method of a class of the program, or of its bases there."""
        for binding in scope.bindings.get(name, ()):
            if isinstance(binding.node, ast.FunctionDef):
                return FunctionObject(binding.node, scope.module)
        for base in self.bases(scope):
            found = self.method(base, name)
            if found is not None:
                return found
        return None

    def bases(self, scope: Scope) -> list[Scope]:
        """Return the bases of a class that are in the program."""
        found = (self.program.class_named(base.name) for base in self.program.bases(scope))
        return [base for base in found if base is not None]

    def attribute(self, held: Any, name: str, node: ast.expr, module: Module) -> Any:
        """Return an attribute of something."""
        match held:
            case ModuleObject(scope=scope, attributes=attributes):
                if name in attributes:
                    return attributes[name]
                if name == "training":
                    return Training()
                method = self.method(scope, name)
                if method is not None:
                    return self._bound(method, held)
                return self._of_class(scope, name, node, module)
            case ClassObject(scope=scope):
                method = self.method(scope, name)
                return method or self._of_class(scope, name, node, module)
            case Tensor() if name == "shape":
                return Sizes(held)
            case LayerObject(reading=known_models.READING, settings=settings):
                row = known_models.BY_NAME[settings["model"]]
                if name == row.head:
                    return LayerObject(self.tables.layers["Linear"], {"inputs": row.features})
            case LayerObject(settings=settings) if name in ("weight", "bias"):
                absent = name == "bias" and False in (
                    settings.get("bias"),
                    settings.get("bias_attr"),
                )
                return None if absent else Weight(held, name)
            case LayerObject(settings=settings, reading=reading):
                for argument in reading.arguments:
                    if argument.name == name and argument.setting in settings:
                        return settings[argument.setting]
            case Weight() if name == "data":
                return held
            case Library(name=package):
                return Library(canonical(f"{package}.{name}"))
            case SequenceObject(parts=parts):
                return dict(parts).get(name, self.opaque(node, module))
        return self.opaque(node, module)

    def _bound(self, method: FunctionObject, held: ModuleObject) -> FunctionObject:
        decorators = getattr(method.node, "decorator_list", ())
        static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in decorators)
        return method if static else FunctionObject(method.node, method.module, held)

    def _of_class(self, scope: Scope, name: str, node: ast.expr, module: Module) -> Any:
        for binding in scope.bindings.get(name, ()):
            if binding.assigned is not None:
                return self.value(binding.assigned, scope.module, {})
        for base in self.bases(scope):
            if name in base.bindings:
                return self._of_class(base, name, node, module)
        return self.opaque(node, module)


def _constant(machine: Machine, node: ast.Constant, module: Module, names: Names) -> Any:
    return node.value


def _name(machine: Machine, node: ast.Name, module: Module, names: Names) -> Any:
    if node.id in names:
        found = names[node.id]
        return machine.outside(node, module) if isinstance(found, Opaque) else found
    if node.id in _BUILT_IN or functions.function_named(node.id) is not None:
        return Library(node.id)
    return machine.outside(node, module)


def _attribute(machine: Machine, node: ast.Attribute, module: Module, names: Names) -> Any:
    base = machine.value(node.value, module, names)
    if not isinstance(base, Opaque | Library):
        return machine.attribute(base, node.attr, node, module)
    found = machine.outside(node, module)
    if isinstance(found, Opaque) and isinstance(base, Library):
        return machine.attribute(base, node.attr, node, module)
    return found


def _subscript(machine: Machine, node: ast.Subscript, module: Module, names: Names) -> Any:
    base = machine.value(node.value, module, names)
    if isinstance(base, Opaque):
        return machine.outside(node, module)
    if isinstance(base, Tensor):
        return calls.part_of_tensor(machine, base, node, module, names)
    if isinstance(node.slice, ast.Slice):
        bounds = [
            machine.certain(part, module, names) if part is not None else None
            for part in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        key: Any = slice(*bounds)
    else:
        key = machine.certain(node.slice, module, names)
    if isinstance(base, Sizes):
        return calls.size_of(machine, base.tensor, key, node, module)
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


def combined(
    machine: Machine, kind: type[ast.operator], left: Any, right: Any, node: ast.AST, module: Module
) -> Any:
    """Return `left op right`."""
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return calls.arithmetic_of_tensors(machine, kind, left, right, module.span(node))
    if any(isinstance(side, Opaque | Dim | Sizes) for side in (left, right)):
        return machine.opaque(node, module)
    try:
        return functions.binary(kind, left, right)
    except NoValueError:
        return machine.opaque(node, module)


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


_HANDLERS: dict[type[ast.AST], Callable[..., Any]] = {
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
