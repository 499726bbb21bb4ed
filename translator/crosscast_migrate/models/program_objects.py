"""Names, attributes and instances of a program, as objects that a model is computed with."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from crosscast_migrate.models import known_models
from crosscast_migrate.models.graph import Graph
from crosscast_migrate.models.objects import (
    ClassObject,
    Constant,
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
from crosscast_reading.pysource.machine.frames import Closure, Variables
from crosscast_reading.pysource.machine.machine import Machine
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.meaning import meanings_of
from crosscast_reading.pysource.values.budget import Budget
from crosscast_reading.pysource.values.value import Instance, Known, Symbol, Value
from crosscast_reading.readers.python.library_calls import canonical

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Scope

_STEPS = 400_000
_DEEPEST = 40


class ProgramObjects(Machine):
    """The part of a `ModelMachine` that asks the program what there is."""

    def __init__(self, program: Program, tables: ModelReading, graph: Graph) -> None:
        super().__init__(Budget(_STEPS, _DEEPEST))
        self.program = program
        self.tables = tables
        self.graph = graph
        self.input_names: dict[int, str] = {}
        """Number of an input to the name that the source gives it."""
        self.output_names: dict[int, str] = {}
        """Number of a value to the name of the layer that gives it."""
        self._made: dict[ast.AST, Any] = {}

    def opaque(self, node: ast.AST, module: Module) -> Opaque:
        """Return something that is not known."""
        return Opaque(f"{module.text(node)[:80]} is not known", module.span(node))

    def outside(self, node: ast.expr, module: Module) -> Any:
        """Return the value of a name that the functions computed here do not assign."""
        return self.plain(evaluate(node, module), node, module)

    def plain(self, value: Value | Any, node: ast.expr, module: Module) -> Any:
        """Return a value of the program as one of the reader."""
        match value:
            case Known(value=content):
                return self._content(content, node, module)
            case Symbol(name=name):
                return self._partial(node, module) or self.named_object(name, node, module)
            case Instance(call=None):  # `self`, of an object whose creation is not seen
                return self.opaque(node, module)
            case Instance(call=made):
                return self._instance(made)  # type: ignore[arg-type]
        name = module.resolve(node)
        return self.named_object(name, node, module) if name else self.opaque(node, module)

    def _partial(self, node: ast.expr, module: Module) -> Any:
        """Return the `functools.partial` that a name holds; None for any other name."""
        meanings = meanings_of(node, module)
        partials = {meaning.partial[-1]: meaning.module for meaning in meanings if meaning.partial}
        if not partials:
            return None
        (call, where), *others = partials.items()
        if others or len(meanings) > 1 or where is None:
            return self.opaque(node, module)
        return self.value(call, Variables(where))

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

    def named_object(self, name: str, node: ast.expr, module: Module) -> Any:
        """Return the object of a qualified name."""
        if ":" not in name:
            return Library(canonical(name)) if name else self.opaque(node, module)
        scope = self.program.class_named(name)
        if scope is not None:
            return ClassObject(scope)
        function = self.program.function_named(name)
        if function is not None:
            return Closure(function[1], function[0])
        return self.opaque(node, module)

    def _instance(self, made: Call) -> Any:
        if made.node not in self._made:
            self._made[made.node] = self.opaque(made.node, made.module)
            self._made[made.node] = self.value(made.node, Variables(made.module))
        return self._made[made.node]

    def method(self, scope: Scope, name: str) -> Closure | None:
        """Return a method of a class of the program, or of its bases there."""
        for binding in scope.bindings.get(name, ()):
            if isinstance(binding.node, ast.FunctionDef):
                return Closure(binding.node, scope.module)
        for base in self.bases(scope):
            closure = self.method(base, name)
            if closure is not None:
                return closure
        return None

    def bases(self, scope: Scope) -> list[Scope]:
        """Return the bases of a class that are in the program."""
        scopes = (self.program.class_named(base.name) for base in self.program.bases(scope))
        return [base for base in scopes if base is not None]

    def attribute_of(self, held: Any, name: str, node: ast.expr, module: Module) -> Any:
        """Return an attribute of something."""
        match held:
            case ModuleObject(scope=scope, attributes=attributes):
                if name in attributes:
                    return attributes[name]
                if name == "training":
                    return Training()
                method = self.method(scope, name)
                if method is not None:
                    return _bound(method, held)
                return self._of_class(scope, name, node, module)
            case ClassObject(scope=scope):
                method = self.method(scope, name)
                return method or self._of_class(scope, name, node, module)
            case Constant(shape=shape) if name == "shape":
                return shape
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

    def _of_class(self, scope: Scope, name: str, node: ast.expr, module: Module) -> Any:
        for binding in scope.bindings.get(name, ()):
            if binding.assigned is not None:
                return self.value(binding.assigned, Variables(scope.module))
        for base in self.bases(scope):
            if name in base.bindings:
                return self._of_class(base, name, node, module)
        return self.opaque(node, module)


def _bound(method: Closure, held: ModuleObject) -> Closure:
    decorators = getattr(method.node, "decorator_list", ())
    static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in decorators)
    return method if static else Closure(method.node, method.module, given=(held,))
