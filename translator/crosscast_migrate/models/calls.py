"""Calls in a model: layers, operations, functions of the program, containers."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crosscast.messages.diagnostics import Span
from crosscast_migrate.models import attention, containers, filling, recurrence
from crosscast_migrate.models.base_calls import is_super, of_base
from crosscast_migrate.models.buffers import buffer_method, of_constant, of_states, without_values
from crosscast_migrate.models.known_models import known_model
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import (
    MODULES,
    ClassObject,
    Constant,
    FunctionalModel,
    Initializer,
    LayerObject,
    Library,
    ModuleObject,
    Opaque,
    Partial,
    SequenceObject,
    Sizes,
    Stacked,
    Tensor,
    Training,
    Weight,
)
from crosscast_migrate.models.operations import operation
from crosscast_migrate.models.rows import Reading
from crosscast_migrate.models.selections import selected
from crosscast_migrate.models.settings import bound
from crosscast_migrate.models.tensor_calls import certain, of_row, of_tensor, valued
from crosscast_reading.pysource.machine import functions
from crosscast_reading.pysource.machine.frames import Closure, Variables
from crosscast_reading.pysource.values import builtins
from crosscast_reading.pysource.values.budget import NoValueError

if TYPE_CHECKING:
    from crosscast_migrate.models.machine import ModelMachine

COMPOSED = {**attention.COMPOSED, **recurrence.COMPOSED}
"""Kinds of layers that consist of others."""
_SAME = frozenset(
    {
        *("to", "cuda", "cpu", "train", "eval", "float", "double", "half", "compile", "build"),
        *("summary", "requires_grad_", "share_memory", "type", "bfloat16"),
    }
)
"""Methods of a model that do not change what it computes in float32."""
_HOOKS = "register_forward_"
_READS = frozenset(
    {
        *("parameters", "named_parameters", "state_dict", "load_state_dict", "set_state_dict"),
        *("named_modules", "named_children", "get_weights", "set_weights", "count_params"),
        *("load_weights", "zero_grad", "clear_gradients", "register_buffer", "numel", "dim"),
        *("size", "print", "repr", "str", "id", "type", "hasattr", "super", "add_loss"),
        *("get_config", "named_sublayers", "named_buffers", "buffers", "add_metric"),
    }
)
"""Functions and methods that leave what a layer computes as it is, or are told elsewhere."""


def of_call(machine: ModelMachine, node: ast.Call, frame: Variables) -> Any:
    """Return the value of a call."""
    function = node.func
    if isinstance(function, ast.Attribute):
        if is_super(function.value):
            return of_base(machine, node, function.attr, frame)
        held = machine.value(function.value, frame)
        if isinstance(held, Opaque):
            return held if held.is_cause else machine.outside(node, frame.module)
        if not isinstance(held, Library | ModuleObject | ClassObject):
            given, named = machine.arguments(node, frame)
            return _of_method(machine, held, function.attr, given, named, node, frame)
        if isinstance(held, ModuleObject):
            own = machine.attribute_of(held, function.attr, function, frame.module)
            given, named = machine.arguments(node, frame)
            if isinstance(own, Opaque) and function.attr in held.attributes:
                return own
            if isinstance(own, Opaque):
                return _of_method(machine, held, function.attr, given, named, node, frame)
            return called(machine, own, given, named, node, frame)
    callee = machine.value(function, frame)
    if isinstance(callee, Opaque):
        is_told = callee.is_cause or machine.budget.is_inside
        return callee if is_told else machine.unknown(node, frame)
    given, named = machine.arguments(node, frame)
    return called(machine, callee, given, named, node, frame)


def called(
    machine: ModelMachine,
    callee: Any,
    given: Sequence[Any],
    named: Mapping[str, Any],
    node: ast.Call,
    frame: Variables,
) -> Any:
    """Return the value that calling something returns."""
    span = frame.module.span(node)
    match callee:
        case Closure():
            return machine.run_function(callee, given, named)
        case ClassObject(scope=scope):
            made = ModuleObject(scope)
            start = machine.method(scope, "__init__")
            if start is not None:
                machine.run_function(start, [made, *given], named)
            return made
        case LayerObject() | SequenceObject() | ModuleObject() | FunctionalModel():
            return forward(machine, callee, given, named, span)
        case Library(name=name):
            return _of_library(machine, name, given, named, node, frame)
        case Partial(of=function):
            values = [*callee.arguments, *given]
            return called(machine, function, values, {**callee.keywords, **named}, node, frame)
    return machine.unknown(node, frame)


def forward(
    machine: ModelMachine,
    held: Any,
    given: Sequence[Any],
    named: Mapping[str, Any],
    span: Span | None,
) -> Any:
    """Return the value of a model or a layer for its inputs."""
    match held:
        case LayerObject():
            value = _of_layer(machine, held, given, named, span)
            if held.title and isinstance(value, Tensor):
                machine.output_names[value.number] = held.title
            return value
        case SequenceObject(parts=parts, is_model=True):
            value = given[0] if given else None
            for _, part in parts:
                value = forward(machine, part, [value], {}, span)
            return value
        case ModuleObject(scope=scope):
            own = machine.method(scope, "train")
            if own is not None and machine.tables.train_selects:
                where = own.module.span(own.node)
                raise UnreadableError(f"{scope.qualname} has a train() of its own", where)
            for name in (machine.tables.forward, "__call__"):
                method = machine.method(scope, name)
                if method is not None:
                    return machine.run_function(method, [held, *given], named)
            raise UnreadableError(f"{scope.qualname} has no {machine.tables.forward}", span)
        case Closure():
            return machine.run_function(held, given, named)
        case Library(name=name) if name in machine.tables.functions:
            return of_row(machine, machine.tables.functions[name], given, named, span)
        case Partial(of=function):
            values = [*held.arguments, *given]
            return forward(machine, function, values, {**held.keywords, **named}, span)
    if isinstance(held, Opaque):
        raise UnreadableError(held.text, held.span)
    raise UnreadableError("this call is not carried", span)


def _of_layer(
    machine: ModelMachine,
    layer: LayerObject,
    given: Sequence[Any],
    named: Mapping[str, Any],
    span: Span | None,
) -> Any:
    layer.span = layer.span or span
    if layer.reading.kind in COMPOSED:
        layer.name = layer.name or f"{layer.reading.kind}_{len(machine.graph.steps)}"
        call = bound(Reading(layer.reading.kind, layer.reading.call), given, named, span)
        return COMPOSED[layer.reading.kind](machine, layer, call, span)
    inputs = list(given[0]) if given and isinstance(given[0], list | tuple) else list(given)
    inputs = [valued(machine, each) for each in inputs]
    certain(inputs)
    if not inputs or not all(isinstance(each, Tensor) for each in inputs):
        raise UnreadableError("a layer gets something that is no value of the model", span)
    for name, value in named.items():
        if name in machine.tables.random_numbers:
            continue
        if name != "training" or not isinstance(value, Training | Opaque | bool | None):
            raise UnreadableError(f"{name} of the call of a layer is not carried", span)
        if layer.reading.kind in ("dropout", "batch_norm") and value not in (None, Training()):
            if value is not True:
                raise UnreadableError("a layer whose training= does not follow the model's", span)
            machine.graph.note(f"training=True of {layer.reading.kind} is not kept in evaluation")
    value = operation(machine.graph, layer, inputs, span)
    activation = layer.settings.get("activation")
    if activation is None:
        return value
    return activated(machine, activation, value, span)


def activated(machine: ModelMachine, activation: Any, value: Tensor, span: Span | None) -> Any:
    """Return the activation of a value, by its name, its function or its layer."""
    match activation:
        case str(name) if name in machine.tables.activations:
            row = machine.tables.activations[name]
            return machine.graph.apply(row.kind, [value], row.fixed)
        case Library(name=name) if name in machine.tables.functions:
            row = machine.tables.functions[name]
            settings = bound(row, (), {}, span)
            return machine.graph.apply(row.kind, [value], settings)
        case LayerObject():
            return _of_layer(machine, activation, [value], {}, span)
    raise UnreadableError(f"the activation {activation!r} is not in the table", span)


def _of_method(
    machine: ModelMachine,
    held: Any,
    name: str,
    given: Sequence[Any],
    named: Mapping[str, Any],
    node: ast.Call,
    frame: Variables,
) -> Any:
    """Return the value that a method of a layer, a container or a value returns."""
    span = frame.module.span(node)
    if isinstance(held, Tensor):
        return of_tensor(machine, held, name, given, named, node, frame.module)
    if isinstance(held, Constant):
        return of_constant(machine, held, name, given, named, span)
    if isinstance(held, Stacked):
        return of_states(machine, held, name, given, span)
    if isinstance(held, list | dict | str):
        return machine.call_method(held, name, (given, named), node, frame)
    if isinstance(held, SequenceObject):
        value = containers.method(held, name, given)
        if value is not containers.NO_METHOD:
            return value
    if isinstance(held, ModuleObject) and buffer_method(held, name, given, named):
        return None
    if isinstance(held, MODULES):
        if name in ("forward", "call", "__call__"):
            return forward(machine, held, given, named, span)
        if name == "eval" and machine.budget.is_inside:
            raise UnreadableError("a part of the model that always evaluates", span)
        if name in _SAME:
            return held
        if name == "apply":
            return _applied(machine, held, given, span)
        if name in ("modules", "children", "sublayers"):
            return containers.modules_of(held)
    if isinstance(held, Weight):
        return filling.filled(machine, held, name, given, named)
    return _unknown(machine, name, [held], node, frame)


def _unknown(
    machine: ModelMachine, name: str, parts: Sequence[Any], node: ast.Call, frame: Variables
) -> Opaque:
    """Return the value of a call that is not known.

    Raises:
        UnreadableError: the call may change what a layer computes.
    """
    told = next((part for part in parts if isinstance(part, Opaque) and part.is_cause), None)
    if told is not None:
        return told
    word = name.rpartition(".")[2]
    changes = word.startswith(_HOOKS) or (machine.budget.is_inside and word not in _READS)
    for part in parts if changes else ():
        if isinstance(part, Weight):
            part.layer.drawn[part.name] = None
        elif isinstance(part, LayerObject | SequenceObject) or word.startswith(_HOOKS):
            text = frame.module.text(node.func)[:60]
            raise UnreadableError(
                f"what {text} does to a layer is not known", frame.module.span(node)
            )
    return machine.unknown(node, frame)


def _applied(machine: ModelMachine, held: Any, given: Sequence[Any], span: Span | None) -> Any:
    """Call a function with every layer of a model, as `model.apply` does."""
    if len(given) != 1 or not isinstance(given[0], Closure):
        raise UnreadableError("apply() of something that is not known", span)
    for part in containers.modules_of(held):
        machine.run_function(given[0], [part], {})
    return held


def _of_library(
    machine: ModelMachine,
    name: str,
    given: Sequence[Any],
    named: Mapping[str, Any],
    node: ast.Call,
    frame: Variables,
) -> Any:
    """Return the value that a function or class of a library returns."""
    tables, span = machine.tables, frame.module.span(node)
    if name == "isinstance" and len(given) == 2:
        return containers.is_instance(machine, given[0], given[1])
    if name == "len" and given and isinstance(given[0], SequenceObject):
        return len(given[0].parts)
    if name == "getattr" and len(given) > 1 and isinstance(given[1], str):
        return machine.attribute_of(given[0], given[1], node, frame.module)
    if name == "setattr" and len(given) == 3 and isinstance(given[0], ModuleObject):
        given[0].attributes[str(given[1])] = given[2]
        return None
    if name in ("dict", "collections.OrderedDict"):
        begun = given[0] if given else {}
        if isinstance(begun, dict | list | tuple):
            return dict(begun, **named)
    if name == "functools.partial" and given and isinstance(given[0], Library | Partial):
        return Partial(given[0], given[1:], named)
    numbers = without_values(machine, name, given, named)
    if numbers is not None:
        return numbers
    known = known_model(machine.graph.source, name, given, named, span)
    if known is not None:
        return known
    row = tables.layer(name)
    if row is not None:
        settings = bound(row, given, named, span)
        for setting in ("weight_initial", "bias_initial"):
            if isinstance(settings.get(setting), Closure):
                settings[setting] = filling.own_initializer(machine, settings[setting], node, frame)
        title = named.get("name")
        return LayerObject(row, settings, span, title=title if isinstance(title, str) else "")
    if name in tables.sequential or name in tables.lists or name in tables.dicts:
        return containers.made(machine, name in tables.sequential, given, named, span)
    if name in tables.inputs:
        return containers.input_value(machine, given, named, span)
    if name in tables.models:
        return containers.functional(given, named, span)
    if name in tables.wrappers and given and isinstance(given[0], (*MODULES, Opaque)):
        return given[0]
    if name in tables.pairs:
        values = [*given, *(value for word, value in named.items() if word.startswith("model"))]
        if values and isinstance(values[0], (*MODULES, Opaque)):
            alone = len(given) + ("optimizers" in named or "optimizer" in named) < 2
            return values[0] if alone else (values[0], machine.unknown(node, frame))
    fills = bool(tables.fill_package) and name.startswith(f"{tables.fill_package}.")
    if fills and given and isinstance(given[0], Weight):
        return filling.filled(machine, given[0], name, given[1:], named)
    if fills and given and given[0] is None:
        return None
    if name in tables.functions:
        return of_row(machine, tables.functions[name], given, named, span)
    if name in tables.selects:
        return selected(machine, node, given, span)
    if name in tables.shapes and given and isinstance(given[0], Tensor):
        return Sizes(given[0])
    if name in tables.attends:
        row = tables.attends[name]
        call = bound(Reading(row.kind, row.call), given, named, span)
        return attention.scaled_attention(machine, call, row.fixed, span)
    maker = tables.initializers.get(name)
    drawn = maker.drawn(given, named) if maker is not None else None
    if drawn is not None:
        return Initializer(drawn)
    if name in tables.weight_options:
        for word in sorted(tables.weight_options[name] & named.keys()):
            text = frame.module.text(node)[:60]
            machine.graph.note(f"{word} of {name} is not carried: {text}")
        return named.get("initializer", machine.unknown(node, frame))
    if any(isinstance(each, Tensor) for each in (*given, *named.values())):
        raise UnreadableError(f"{name} is not in the table", span)
    if name.rpartition(".")[0] == tables.package and name.rpartition(".")[2][0].isupper():
        return Opaque(f"{name} is not in the table of layers", span, is_cause=True)
    function = functions.function_named(name)
    if function is None:
        return _unknown(machine, name, [*given, *named.values()], node, frame)
    try:
        if not builtins.is_shallow(name):
            machine.measure(node, [*given, *named.values()], frame)
        elif any(map(machine.is_unknown, given)):
            raise NoValueError
        return functions.call(function, given, dict(named))
    except NoValueError:
        return machine.unknown(node, frame)
