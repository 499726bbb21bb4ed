"""Computes the constructor and the forward pass of a model, as far as they are certain.

Nothing of the source is run: expressions are computed on plain values, on layers of the tables and
on values of the forward pass, which have no content. Whatever else the model depends on ends the
reading.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crosscast_migrate.models import known_models, statements
from crosscast_migrate.models.expressions import HANDLERS
from crosscast_migrate.models.graph import Graph
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import (
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
from crosscast_migrate.models.tables import ModelReading
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Instance, Known, Symbol, Value
from crosscast_reading.readers.python.library_calls import canonical

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Scope

_MOST = 200_000
_DEEPEST = 40
Names = dict[str, Any]


class Machine:
    """Computes with the names of one function after the other."""

    def __init__(self, program: Program, tables: ModelReading, graph: Graph) -> None:
        self.program = program
        self.tables = tables
        self.graph = graph
        self.left = _MOST
        """Number of expressions that may still be computed."""
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
        self.left -= 1
        if self.left < 0:
            raise UnreadableError("the model takes too long to read", module.span(node))
        handler = HANDLERS.get(type(node))
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
            case Instance(call=None):  # `self`, of an object whose creation is not seen
                return self.opaque(node, module)
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
        before = len(self.graph.steps)
        self._depth += 1
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body, function.module, names)
            found = statements.returned(self, function.node.body, function.module, names)
        finally:
            self._depth -= 1
        if len(self.graph.steps) > before:
            for decorator in function.node.decorator_list:
                statements.with_gradients(decorator, function.module)
        return found

    @property
    def is_inside(self) -> bool:
        """Whether a function of the program is being computed."""
        return self._depth > 0

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
            case LayerObject(reading=known_models.READING):
                last = known_models.last_layer(self.graph.source, held, name)
                return last or self.opaque(node, module)
            case LayerObject(settings=settings) if name in ("weight", "bias"):
                absent = name == "bias" and False in (
                    settings.get("bias"),
                    settings.get("bias_initial"),
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
