"""Where the steps of a program use its model: in calls, in `fit`, and in a differentiated function.

A function that a library differentiates is called by the library, so what its parameters hold is
what the derivative is given: `value_and_grad(loss_fn)(model, batch)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import Place, chase
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import canonical

if TYPE_CHECKING:
    from crosscast_migrate.models.tables import ModelReading
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.trainstep.events import TrainingStep

_DEEPEST = 4
"""Functions of the program that a model is handed on through."""


@dataclass(frozen=True, slots=True)
class Use:
    """An expression that is called as the model, and the one that says which model it is."""

    function: ast.expr
    module: Module
    held: Place

    @property
    def call(self) -> ast.Call | None:
        """The call of the model; None where it is compiled or fitted."""
        call = self.module.parent(self.function)
        return call if isinstance(call, ast.Call) and call.func is self.function else None


def uses_of(
    program: Program, steps: Sequence[TrainingStep], reading: ModelReading
) -> Iterator[Use]:
    """Yield the expressions that the steps call as their model, or that Keras compiles and fits."""
    seen: set[tuple[str, int]] = set()
    for step in steps:
        for event in step.events:
            if event.kind == "forward" and isinstance(event.node, ast.Call):
                place = (event.span.file, event.span.line)
                if place not in seen:
                    seen.add(place)
                    function = event.node.func
                    yield Use(function, event.module, (function, event.module))
            elif event.kind == "backward" and isinstance(event.node, ast.Call):
                yield from _in_derivative(program, event.node, event.module, reading)
    for call in program.calls():
        if call.method in ("compile", "fit") and call.receiver is not None:
            yield Use(call.receiver, call.module, (call.receiver, call.module))


def _in_derivative(
    program: Program, derivative: ast.Call, module: Module, reading: ModelReading
) -> Iterator[Use]:
    """Yield the calls of a model in a function that a library differentiates."""
    name = canonical(module.resolve(derivative.func))
    place = _differentiated(derivative, module)
    if name not in reading.differentiates or not derivative.args or place is None:
        return
    calls = _calls_of(derivative, module)
    models = {call.args[place] for call in calls if place < len(call.args)}
    for function, where in functions_of(program, derivative.args[0], module):
        held = handed_over(derivative, function, module)
        uses = list(_calls(program, function, where, held, _DEEPEST))
        trained = [use for use in uses if use.held[0] in models]
        if trained:  # what else is called may be a second model: a teacher
            yield from (*trained, *(use for use in uses if use not in trained))


def _calls_of(derivative: ast.Call, module: Module) -> list[ast.Call]:
    return [call for call in module.every(ast.Call) if _is(call.func, derivative, module)]


def handed_over(
    derivative: ast.Call, function: Function | ast.Lambda, module: Module
) -> dict[str, list[Place]]:
    """Return the parameters of a function to what the calls of its derivative give them."""
    held: dict[str, list[Place]] = {}
    for call in _calls_of(derivative, module):
        for parameter, argument in zip(_parameters(function), call.args, strict=False):
            held.setdefault(parameter, []).append((argument, module))
    return held


def _parameters(function: Function | ast.Lambda) -> list[str]:
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args)]


def _differentiated(derivative: ast.Call, module: Module) -> int | None:
    """Return the place of the parameter that is the model; None if it is not known."""
    for keyword in derivative.keywords:
        if keyword.arg == "argnums":
            # A call says which weights of the parameter, too: nnx.DiffState(0, nnx.Param).
            nodes = (node for node, _ in chase(keyword.value, module))
            calls = (node for node in nodes if isinstance(node, ast.Call) and node.args)
            inner = next((call.args[0] for call in calls), keyword.value)
            value = evaluate(inner, module)
            place = value.value if isinstance(value, Known) else None
            return place if isinstance(place, int) else None
    return 0


def _is(function: ast.expr, derivative: ast.Call, module: Module) -> bool:
    return function is derivative or (
        isinstance(function, ast.Name)
        and any(node is derivative for node, _ in chase(function, module))
    )


def functions_of(
    program: Program, node: ast.expr, module: Module
) -> Iterator[tuple[Function | ast.Lambda, Module]]:
    """Yield the functions of the program that an expression can be."""
    for expression, where in chase(node, module):
        if isinstance(expression, ast.Lambda):
            yield expression, where
        elif isinstance(expression, ast.Name | ast.Attribute):
            named = program.function_named(where.resolve(expression))
            if named is not None and not _is_method(*named):
                yield named[1], named[0]


def _is_method(module: Module, function: Function) -> bool:
    """Whether a function has a parameter that no call gives it."""
    return isinstance(module.parent(function), ast.ClassDef)


def _calls(
    program: Program,
    function: Function | ast.Lambda,
    module: Module,
    held: Mapping[str, Sequence[Place]],
    depth: int,
) -> Iterator[Use]:
    """Yield the calls of names, also in functions that get what a parameter holds.

    Args:
        program: the program.
        function: where they are.
        module: of the function.
        held: parameter to what it holds; another name says itself what it is.
        depth: functions that are followed from here.
    """
    for node in walk(function):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name):
            places = held.get(node.func.id, [(node.func, module)])
            yield from (Use(node.func, module, place) for place in places)
        names = [argument.id if isinstance(argument, ast.Name) else "" for argument in node.args]
        if not depth or not held.keys() & set(names):
            continue
        for inner, where in functions_of(program, node.func, module):
            pairs = zip(_parameters(inner), names, strict=False)
            handed = {parameter: held[name] for parameter, name in pairs if name in held}
            if handed and inner is not function:
                yield from _calls(program, inner, where, handed, depth - 1)
