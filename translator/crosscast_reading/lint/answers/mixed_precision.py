"""Forward passes that certainly run in mixed precision, and what they keep in float32."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.lint.answers.loop import MAY_SWITCH_SCALER, trained_passes
from crosscast_reading.pysource.libraries.precision_tables import table_of_region, tables
from crosscast_reading.pysource.libraries.precision_words import MixedPrecision
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.pysource.values.value import Known, Symbol, Value
from crosscast_reading.readers.python.conditions import conditions_of
from crosscast_reading.readers.python.default_conditions import holds_by_default
from crosscast_reading.readers.python.library_calls import (
    calls_matching,
    plain,
    text_value,
    value_of,
)
from crosscast_reading.sources.connected import connected
from crosscast_reading.trainstep.events import Context, Event, Guard
from crosscast_reading.trainstep.frames.object_kinds import is_model_name
from crosscast_reading.trainstep.steps.search import training_steps
from crosscast_reading.trainstep.tensors.forward import Forward
from crosscast_reading.trainstep.tensors.layers import layers_of, method_of
from crosscast_reading.trainstep.tensors.scope import Findings
from crosscast_reading.trainstep.tensors.tensor import NOTHING, Tensor

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_DEVICE = re.compile(r"^[\w.\s'\"=!()]*(device|cuda|cpu)[\w.\s'\"=!()]*$")
_OTHER_TYPE = re.compile(r"float(32|64)?$|double$|fp32$")


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedPass:
    """A forward pass of a training step whose model is in the program."""

    event: Event
    context: Context | None
    """The region of mixed precision around it; None if the model itself may enter one."""
    table: MixedPrecision
    by_policy: bool
    """Whether a policy makes the whole program mixed."""
    output: Tensor
    """What the model returns."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What the forward passes of a program keep, by framework."""

    passes: tuple[MixedPass, ...]
    findings: tuple[tuple[MixedPrecision, Findings], ...]


@once
def kept_by(program: Program) -> Kept:
    """Return the trained forward passes of a program, and what they keep in float32."""
    readers: dict[int, Forward] = {}
    passes = []
    seen: set[ast.AST] = set()
    for step in training_steps(program):
        for event in trained_passes(step):
            if event.node in seen or not isinstance(event.node, ast.Call):
                continue
            seen.add(event.node)
            context = event.context("autocast")
            modules = connected(event.module)
            table = _table(modules, context)
            if table is None or _stores_half(modules, table):
                continue
            by_policy = _by_policy(modules) is table
            by_region = context is not None and certainly_on(context, table)
            on = (by_region or by_policy) and _is_reached(event)
            reader = readers.setdefault(id(table), Forward(program, table))
            mixed = MixedPass(
                event=event,
                context=context if by_region and on else None,
                table=table,
                by_policy=by_policy and on,
                output=_run(reader, event, on),
            )
            passes.append(mixed)
    findings = tuple((reader.table, reader.findings) for reader in readers.values())
    return Kept(tuple(passes), findings)


def _run(reader: Forward, event: Event, on: bool) -> Tensor:
    """Read the forward pass of the models that an event can run; return what all of them return."""
    assert isinstance(event.node, ast.Call)
    function = event.node.func
    if isinstance(function, ast.Attribute) and function.attr in reader.table.run:
        function = function.value
    outputs = []
    for layer in layers_of(function, event.module.owner_of(event.node)):
        method = method_of(reader.program, layer.name, reader.table.run)
        if method is not None:
            outputs.append(reader.call(*method, [NOTHING] * len(event.node.args), {}, on))
    return outputs[0] if len(set(outputs)) == 1 else NOTHING


def _table(modules: frozenset[Module], context: Context | None) -> MixedPrecision | None:
    if context is not None:
        return table_of_region(context.name)
    entered = (table for module in modules if (table := _entered_in(module)))
    return _by_policy(modules) or next(entered, None)


def _by_policy(modules: frozenset[Module]) -> MixedPrecision | None:
    """Return the table of the framework whose policy certainly makes a whole program mixed."""
    return next((table for module in modules if (table := _policy_in(module))), None)


@once
def _policy_in(module: Module) -> MixedPrecision | None:
    """Return the table of the framework whose policy a module certainly sets."""
    for table in tables():
        for call in calls_matching(module.program, re.compile(table.policies)):
            policy = call.argument("policy") or value_of(next(iter(call.node.args), None), module)
            sure = all(holds_by_default(condition) for condition in conditions_of(call))
            if call.module is module and sure and re.fullmatch(table.mixed, text_value(policy)):
                return table
    return None


@once
def _entered_in(module: Module) -> MixedPrecision | None:
    """Return the table of the framework whose regions something in a module enters."""
    names = (name for call in module.calls for name in call.names)
    return next((table for name in names if (table := table_of_region(name))), None)


def certainly_on(context: Context, table: MixedPrecision) -> bool:
    """Whether a region computes in half with the defaults of all flags."""
    detail = context.detail
    switch = detail.get("enabled", detail.get("enable", Known(True)))
    if not (isinstance(switch, Known) and switch.value is True):
        return False
    if not all(guard.by_default or _asks_device(guard) for guard in context.guards):
        return False
    if _OTHER_TYPE.search(_word(detail.get("dtype"))):
        return False
    device = plain(detail.get("device_type"))
    if table.devices and isinstance(device, str) and device.partition(":")[0] not in table.devices:
        return False
    for argument, values in table.half_throughout.items():
        given = detail.get(argument)
        if given is not None and not isinstance(given, Known | Symbol):
            return False
        if plain(given) in values:
            return False
    return True


def _asks_device(guard: Guard) -> bool:
    """Whether a condition asks what the machine has: `nullcontext() if device == "cpu" else …`."""
    return guard.by_default is None and bool(_DEVICE.search(guard.text))


def _word(value: Value | None) -> str:
    match value:
        case Known(value=str(word)) | Symbol(name=word):
            return word
    return ""


def _is_reached(event: Event) -> bool:
    """Whether no switch of the precision that may be off stands around a forward pass."""
    return all(
        guard.by_default is True
        or (guard.by_default is None and not MAY_SWITCH_SCALER.search(guard.text))
        for guard in event.guards
    )


# ---- models that are stored in half


@once
def _half_types_in(module: Module) -> frozenset[str]:
    """Return the types that models are cast to as a whole in a module, as they are written."""
    return frozenset(word for call in module.calls for word in _cast_to(call.node, module))


def _cast_to(node: ast.Call, module: Module) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Attribute(value=model, attr="half" | "bfloat16" as word), args=[]):
            if _is_model(model):
                yield word
        case ast.Call(func=ast.Attribute(value=model, attr="to" | "astype"), args=given) if (
            _is_model(model)
        ):
            for each in (*given, *(k.value for k in node.keywords)):
                yield _type_word(each, module)
        case ast.Call(func=function, args=[given, *_]) if (
            identifier(function) == "set_default_dtype"
        ):
            yield _type_word(given, module)
    for argument in node.keywords:
        if any(argument.arg in table.type_arguments for table in tables()):
            yield _type_word(argument.value, module)


def _is_model(node: ast.expr) -> bool:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    if isinstance(node, ast.Call):
        name = identifier(node.func)
        return name[:1].isupper()
    return is_model_name(identifier(node))


def _type_word(node: ast.expr, module: Module) -> str:
    text = node.value if isinstance(node, ast.Constant) else module.resolve(node)
    return text if isinstance(text, str) else ""


def _stores_half(modules: frozenset[Module], table: MixedPrecision) -> bool:
    """Whether a model of connected modules may be stored in half as a whole."""
    words = frozenset().union(*map(_half_types_in, modules))
    return any(re.fullmatch(table.half_types, word) for word in words)
