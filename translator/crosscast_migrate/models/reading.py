"""Finds the model of a training program, and reads it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crosscast.messages.diagnostics import Span
from crosscast_migrate.models import containers
from crosscast_migrate.models.after_model import (
    Computed,
    applied,
    computations,
    joins_rows,
    outputs_taken,
)
from crosscast_migrate.models.calls import forward
from crosscast_migrate.models.graph import Graph
from crosscast_migrate.models.installed import model_tables
from crosscast_migrate.models.machine import ModelMachine
from crosscast_migrate.models.network import Network, UnreadableError
from crosscast_migrate.models.objects import (
    FunctionalModel,
    LayerObject,
    ModuleObject,
    Opaque,
    SequenceObject,
    Tensor,
    Training,
)
from crosscast_migrate.models.pruning import pruned
from crosscast_migrate.models.scripts import run_before
from crosscast_migrate.models.tables import ModelReading, ModelTables
from crosscast_migrate.models.uses import Use, uses_of
from crosscast_reading.pysource.machine.frames import Variables
from crosscast_reading.pysource.names.containers import Place, chase

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.trainstep.events import TrainingStep

After = tuple[Sequence[Computed], "Module"]
"""What a training step computes of the outputs."""
Taken = tuple[ast.Call | None, Sequence[ast.expr | int | str], "Module"]
"""The call of a model, and what the losses of a sum take of its outputs; None for a model that is
compiled with losses for its outputs."""


def network_of(
    program: Program,
    steps: Sequence[TrainingStep],
    framework: str,
    taken: Sequence[ast.expr | int | str] = (),
) -> Network:
    """Return the model that a program trains.

    Args:
        program: the program.
        steps: its training steps.
        framework: the backend of its framework.
        taken: what the losses of a sum take: the new model returns that, in their order.

    Raises:
        UnreadableError: there is none, there are several, or it is not a composition of layers of
            the tables.
    """
    tables = model_tables().get(framework)
    if tables is None or tables.reading is None:
        raise UnreadableError("models of this framework are not read")
    failures: list[UnreadableError] = []
    networks: list[Network] = []
    for use in uses_of(program, steps, tables.reading):
        after = _computed(use, steps)
        for node, module in _sources(*use.held):
            try:
                place, then = (node, module), (after, use.module)
                by_key = any(isinstance(each, int | str) for each in taken)
                is_taken = taken and by_key == (use.call is None)
                several = (use.call, taken, use.module) if is_taken else None
                network = _read(program, tables, tables.reading, place, then, several)
                networks.append(_as_used(network, use, tables.reading))
            except UnreadableError as error:
                failures.append(error)
                break
    if networks:
        if any(_computes(other) != _computes(networks[0]) for other in networks):
            raise UnreadableError("the program calls several models", networks[1].place)
        return networks[0]
    telling = [error for error in failures if error.span is not None]
    raise next(iter(telling or failures), UnreadableError("where the model is created is not seen"))


def takes_labels_as_rows(program: Program, steps: Sequence[TrainingStep], framework: str) -> bool:
    """Whether the loss of a step takes every label as a row: `outputs.view(-1, classes)`."""
    tables = model_tables().get(framework)
    reading = tables.reading if tables is not None else None
    uses = uses_of(program, steps, reading or ModelReading(package="", layers={}, functions={}))
    after = ((use.module, _computed(use, steps)) for use in uses)
    return any(computed and joins_rows(computed[-1], where) for where, computed in after)


def _computed(use: Use, steps: Sequence[TrainingStep]) -> tuple[Computed, ...]:
    """Return the computations of a step on the outputs where it uses a model."""
    return computations(use.call, use.module, steps) if use.call is not None else ()


def _as_used(network: Network, use: Use, reading: ModelReading) -> Network:
    """Return a model, if the step calls it as it was read.

    Raises:
        UnreadableError: the step passes more than the model was read with.
    """
    call, module = use.call, use.module
    if call is None:
        return network
    given = [argument for argument in call.args if not isinstance(argument, ast.Starred)]
    words = {keyword.arg for keyword in call.keywords} - {None, "training"}
    if len(given) > len(network.inputs) or words - {*network.inputs} - reading.random_numbers:
        text = module.text(call)[:60]
        raise UnreadableError(f"{text} passes more than the model was read with", module.span(call))
    return network


def _computes(network: Network) -> object:
    return network.steps, network.layers, network.output, network.is_flat


def _sources(node: ast.expr, module: Module) -> list[Place]:
    """Return the names that a model is assigned to, or else the calls that it can come from."""
    chased = list(chase(node, module))
    names: list[Place] = [
        (expression, where)
        for expression, where in chased
        if isinstance(expression, ast.Name) and _is_assigned(expression, where)
    ]
    return names or [
        (expression, where)
        for expression, where in chased
        if isinstance(expression, ast.Call)
        and not isinstance(where.statement_of(expression), ast.Return)
    ]


def _is_assigned(node: ast.Name, module: Module) -> bool:
    """Whether the function or module around a name, or the module, assigns to it."""
    scope = module.scope_of(node).lookup(node.id)
    bindings = scope.bindings.get(node.id, ()) if scope is not None else ()
    return any(binding.kind == "assign" for binding in bindings)


def _read(
    program: Program,
    tables: ModelTables,
    reading: ModelReading,
    place: Place,
    after: After,
    several: Taken | None,
) -> Network:
    """Return the model that a name holds at its place, or that a call creates."""
    node, module = place
    graph = Graph(tables)
    machine = ModelMachine(program, reading, graph)
    scope = module.scope_of(node)
    if isinstance(node, ast.Name):
        scope = scope.lookup(node.id) or scope
    body: list[ast.stmt] = getattr(scope.node, "body", [])
    frame = Variables(module)
    if isinstance(scope.node, ast.FunctionDef | ast.Module):
        run_before(machine, body, node, frame)
    else:
        raise UnreadableError("where the model is created is not read", module.span(node))
    if isinstance(node, ast.Name):
        held = frame.names.get(node.id, Opaque(node.id, module.span(node)))
    else:
        held = machine.value(node, frame)
    if isinstance(held, Opaque):
        raise UnreadableError(held.text, held.span)
    return replace(_network(machine, held, after, several), place=_made_at(node, module))


def _made_at(node: ast.expr, module: Module) -> Span:
    """Return where a model is created."""
    made = [n for n, where in chase(node, module) if isinstance(n, ast.Call) and where is module]
    return module.span(made[-1] if made else node)


def _network(machine: ModelMachine, held: Any, after: After, several: Taken | None) -> Network:
    """Return the steps of the forward pass of a model, and of what the loss takes of it."""
    graph = machine.graph

    def ready(title: str, names: Sequence[str], returned: Any, inputs: Sequence[int]) -> Network:
        if several is not None:
            output, is_flat = outputs_taken(machine, returned, *several), False
        else:
            output, is_flat = applied(machine, _single(returned), *after)
        if output.is_turned:
            raise UnreadableError("the rows are on the second axis of what the model returns")
        return replace(pruned(graph.network(title, names, output), inputs), is_flat=is_flat)

    for name, layer in containers.named_layers(held):
        layer.name = layer.name or _identifier(name)
    match held:
        case FunctionalModel(inputs=inputs, output=output):
            numbers = [tensor.number for tensor in inputs]
            names = [machine.input_names.get(n) or f"input_{i}" for i, n in enumerate(numbers)]
            if len(names) == 1 and not machine.input_names.get(numbers[0]):
                names = ["x"]
            return ready("Model", names, output, numbers)
        case ModuleObject(scope=scope):
            method = machine.method(scope, machine.tables.forward)
            if method is None:
                raise UnreadableError(f"{scope.qualname} has no {machine.tables.forward}")
            assert isinstance(method.node, ast.FunctionDef | ast.AsyncFunctionDef)
            names, named = _parameters(method.node, machine.tables)
            values = [graph.value() for _ in names]
            returned = forward(machine, held, values, named, None)
            title = scope.qualname.rpartition(".")[2]
            return ready(title, names, returned, [value.number for value in values])
        case SequenceObject() | LayerObject():
            value, parts = _start(machine, held)
            returned = forward(machine, parts, [value], {}, None)
            return ready("Model", ["x"], returned, [value.number])
    raise UnreadableError("what the program calls is no model that can be read")


def _identifier(name: str) -> str:
    text = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
    return f"layer_{text}" if text[:1].isdigit() else text


def _single(returned: Any) -> Tensor:
    if isinstance(returned, tuple | list) and len(returned) == 1:
        returned = returned[0]
    if isinstance(returned, Opaque):
        raise UnreadableError(returned.text, returned.span)
    if not isinstance(returned, Tensor):
        raise UnreadableError("the model does not return one value")
    return returned


def _start(machine: ModelMachine, held: Any) -> tuple[Tensor, Any]:
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


def _parameters(
    node: ast.FunctionDef | ast.AsyncFunctionDef, reading: ModelReading
) -> tuple[list[str], dict[str, Any]]:
    """Return the inputs of a forward pass, and the values of its other parameters."""
    args = node.args
    names = [parameter.arg for parameter in (*args.posonlyargs, *args.args)][1:]
    required = len(names) - len(args.defaults)
    others = {"training", *reading.random_numbers}
    inputs = [name for place, name in enumerate(names) if place < required and name not in others]
    named = {name: Training() for name in names if name == "training"}
    if args.vararg is not None or not inputs:
        raise UnreadableError("the inputs of the model are not known")
    return inputs, named
