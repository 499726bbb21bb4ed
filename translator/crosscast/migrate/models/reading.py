"""Finds the model of a training program, and reads it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crosscast.migrate.models import containers, statements
from crosscast.migrate.models.calls import forward
from crosscast.migrate.models.graph import Graph
from crosscast.migrate.models.machine import Machine
from crosscast.migrate.models.network import Network, UnreadableError
from crosscast.migrate.models.objects import (
    FunctionalModel,
    LayerObject,
    ModuleObject,
    Opaque,
    SequenceObject,
    Tensor,
    Training,
)
from crosscast.migrate.models.tables import TABLES
from crosscast.pysource.names.containers import chase

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Function, Module
    from crosscast.pysource.programs.program import Program
    from crosscast.trainstep.events import TrainingStep

Place = tuple[ast.expr, "Module"]


def network_of(program: Program, steps: list[TrainingStep], framework: str) -> Network:
    """Return the model that a program trains.

    Args:
        program: the program.
        steps: its training steps.
        framework: the backend of its framework.

    Raises:
        UnreadableError: there is none, there are several, or it is not a composition of layers of
            the tables.
    """
    if framework not in TABLES:
        raise UnreadableError("models of this framework are not read")
    failures: list[UnreadableError] = []
    for node, module in _uses(program, steps):
        for place in _sources(node, module):
            try:
                return _read(program, framework, *place, use=node)
            except UnreadableError as error:
                failures.append(error)
    telling = [error for error in failures if error.span is not None]
    raise next(iter(telling or failures), UnreadableError("where the model is created is not seen"))


def _uses(program: Program, steps: list[TrainingStep]) -> Iterator[Place]:
    """Yield what the training steps call as their model, and what Keras compiles and fits."""
    for step in steps:
        for event in step.events:
            if event.kind == "forward" and isinstance(event.node, ast.Call):
                yield event.node.func, event.module
    for call in program.calls():
        if call.method in ("compile", "fit") and call.receiver is not None:
            yield call.receiver, call.module


def _sources(node: ast.expr, module: Module) -> list[Place]:
    """Return the calls that a model can come from."""
    return [
        (expression, where)
        for expression, where in chase(node, module)
        if isinstance(expression, ast.Call)
    ]


def _read(program: Program, framework: str, node: ast.expr, module: Module, use: ast.expr) -> (
    Network
):
    """Return the model that an expression creates."""
    tables = TABLES[framework]
    graph = Graph(framework, tables.channels)
    machine = Machine(program, tables, graph)
    names: dict[str, Any] = {}
    function = module.function_of(node)
    statement = module.statement_of(node)
    held: Any = None
    body = _body(module, function)
    before = body[: _place(body, node, module)]
    statements.run_loosely(machine, before, module, names)
    held = machine.value(node, module, names)
    if isinstance(statement, ast.Assign) and isinstance(held, SequenceObject):
        _added(machine, held, statement, body, module, names)
    if isinstance(held, Opaque):
        raise UnreadableError(f"{held.text} is not known", held.span)
    return replace(_network(machine, held, use), place=module.span(node))


def _body(module: Module, function: Function | None) -> list[ast.stmt]:
    return module.tree.body if function is None else function.body


def _place(body: list[ast.stmt], node: ast.AST, module: Module) -> int:
    """Return which statement of a block an expression stands in."""
    around: ast.AST | None = node
    while around is not None:
        for place, statement in enumerate(body):
            if statement is around:
                return place
        around = module.parent(around)
    return len(body)


def _added(
    machine: Machine,
    held: SequenceObject,
    made: ast.Assign,
    body: list[ast.stmt],
    module: Module,
    names: dict[str, Any],
) -> None:
    """Run the calls of `model.add` that follow the creation of an empty Sequential."""
    statements.assign(machine, made.targets[0], held, module, names)
    place = _place(body, made, module)
    for statement in body[place + 1 :]:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="add", value=base)) as call):
                if machine.value(base, module, names) is held:
                    machine.value(call, module, names)
            case ast.For():
                text = module.text(statement)
                if ".add(" in text:
                    statements.run(machine, [statement], module, names)


def _network(machine: Machine, held: Any, use: ast.expr) -> Network:
    """Return the steps of the forward pass of a model."""
    graph = machine.graph
    for name, layer in containers.named_layers(held):
        layer.name = layer.name or _identifier(name)
    match held:
        case FunctionalModel(inputs=inputs, output=output):
            numbers = [tensor.number for _, tensor in inputs]
            names = [machine.input_names.get(n) or f"input_{i}" for i, n in enumerate(numbers)]
            if len(names) == 1 and not machine.input_names.get(numbers[0]):
                names = ["x"]
            return _ordered(graph.network("Model", names, output), numbers)
        case ModuleObject(scope=scope):
            method = machine.method(scope, machine.tables.forward)
            if method is None:
                raise UnreadableError(f"{scope.qualname} has no {machine.tables.forward}")
            assert isinstance(method.node, ast.FunctionDef | ast.AsyncFunctionDef)
            names, named = _parameters(method.node)
            values = [graph.value() for _ in names]
            found = forward(machine, held, values, named, None)
            return graph.network(scope.qualname.rpartition(".")[2], names, _single(found))
        case SequenceObject() | LayerObject():
            value, parts = _start(machine, held)
            found = forward(machine, parts, [value], {}, None)
            return _ordered(graph.network("Model", ["x"], _single(found)), [value.number])
    raise UnreadableError("what the program calls is no model that can be read")


def _identifier(name: str) -> str:
    text = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
    return f"layer_{text}" if text[:1].isdigit() else text


def _single(found: Any) -> Tensor:
    if isinstance(found, tuple | list) and len(found) == 1:
        found = found[0]
    if not isinstance(found, Tensor):
        raise UnreadableError("the model does not return one value")
    return found


def _start(machine: Machine, held: Any) -> tuple[Tensor, Any]:
    """Return the input of a Sequential, with the shape that its first layer gives."""
    if not isinstance(held, SequenceObject):
        return machine.graph.value(), held
    parts = list(held.parts)
    if parts and isinstance(parts[0][1], Tensor):
        return parts[0][1], SequenceObject(parts[1:], True)
    shape = None
    if parts and isinstance(parts[0][1], LayerObject):
        settings = parts[0][1].settings
        given = settings.get("input_shape")
        if isinstance(settings.get("input_dim"), int):
            given = (settings["input_dim"],)
        if isinstance(given, list | tuple):
            shape = (None, *(size if isinstance(size, int) else None for size in given))
    return machine.graph.value(shape), held


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[list[str], dict[str, Any]]:
    """Return the inputs of a forward pass, and the values of its other parameters."""
    args = node.args
    names = [parameter.arg for parameter in (*args.posonlyargs, *args.args)][1:]
    required = len(names) - len(args.defaults)
    inputs = [name for place, name in enumerate(names) if place < required and name != "training"]
    named = {name: Training() for name in names if name == "training"}
    if args.vararg is not None or not inputs:
        raise UnreadableError("the inputs of the model are not known")
    return inputs, named


def _ordered(network: Network, inputs: list[int]) -> Network:
    """Return a model whose inputs are the values 0, 1, ..."""
    if inputs != list(range(len(inputs))):
        raise UnreadableError("the inputs of the model are not its first values")
    return network
