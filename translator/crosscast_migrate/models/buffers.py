"""What programs do with numbers that are not trained, and with the states of recurrent layers."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crosscast.messages.diagnostics import Span
from crosscast_migrate.models import constants
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import (
    Constant,
    Dim,
    ModuleObject,
    Stacked,
    Tensor,
    Zeros,
)
from crosscast_migrate.models.slices import parts_of
from crosscast_migrate.models.tensor_calls import check_repeats_rows, of_row

if TYPE_CHECKING:
    from crosscast_migrate.models.machine import ModelMachine
    from crosscast_reading.pysource.machine.frames import Variables

_BUFFERS = frozenset({"register_buffer"})
_CONVERTS = frozenset({"float", "double", "long", "int", "bool", "to", "type", "astype", "type_as"})
_SAME = frozenset({"cuda", "cpu", "contiguous", "detach", "numpy", "requires_grad_"})
_COPIES = frozenset({"clone", "copy"})


def buffer_method(
    held: ModuleObject, name: str, given: Sequence[Any], named: Mapping[str, Any]
) -> bool:
    """Keep numbers that a model is given by `register_buffer`; return whether it was that."""
    values = [*given, *(named[word] for word in ("name", "tensor") if word in named)]
    if name not in _BUFFERS or len(values) < 2 or not isinstance(values[0], str):
        return False
    kept = constants.as_constant(values[1])
    if kept is not None:
        kept.name = values[0]
    held.attributes[values[0]] = values[1] if kept is None else kept
    return True


def without_values(
    machine: ModelMachine, name: str, given: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """Return the numbers that a function makes of no value of the model; None if it does not."""
    package, _, word = name.rpartition(".")
    word = "arange" if name in machine.tables.ranges else word
    if package not in machine.tables.function_packages | {"numpy"}:
        return None
    given = [*given, *(named[word] for word in ("limit", "stop") if word in named)]
    if "start" in named or "step" in named or "delta" in named:
        steps = [named.get("step", named.get("delta"))]
        given = [named.get("start", 0), *given, *(step for step in steps if step is not None)]
        named = {n: v for n, v in named.items() if n not in ("start", "step", "delta")}
    parts = [
        part for value in given for part in (value if isinstance(value, list | tuple) else [value])
    ]
    sizes = [part for part in parts if isinstance(part, Dim)]
    if sizes and word in ("zeros", "zeros_like"):
        return Zeros()
    if sizes and word == "arange":
        bounds = {n: v for n, v in named.items() if n not in ("dtype", "device", "limit", "stop")}
        is_whole = tuple(given[:-1] if len(given) == 2 else given[0::2]) in ((0,), (0, 1))
        is_whole = not bounds and (is_whole or len(given) == 1)
        return machine.graph.positions(sizes[0].tensor, sizes[0].axis) if is_whole else None
    if any(isinstance(part, Tensor) for part in (*parts, *named.values())):
        return None
    if any(isinstance(part, Constant) for part in parts):
        computed = constants.of_numpy(word, given, named) if package == "numpy" else None
        if computed is not None:
            return computed
    return constants.made(word, given, named)


def of_constant(
    machine: ModelMachine,
    held: Constant,
    name: str,
    given: Sequence[Any],
    named: Mapping[str, Any],
    span: Span | None,
) -> Any:
    """Return the result of a method of numbers that are not trained."""
    if name in _CONVERTS:
        words = [word for word in (*given, *named.values()) if not isinstance(word, Constant)]
        return constants.with_type(held, name, words)
    if name in _COPIES:
        return replace(held)
    if name in _SAME:
        return held
    if name == "expand" and any(isinstance(size, Dim) for size in given):
        check_repeats_rows(machine, held.shape, given, span)
        return held  # it is repeated for every row where something needs it
    if name in ("size", "dim"):
        return len(held.shape) if name == "dim" else held.shape[given[0]] if given else held.shape
    row = machine.tables.methods.get(name)
    if row is None:
        raise UnreadableError(f"the method {name} of a value is not in the table", span)
    alone = given and not isinstance(given[0], list | tuple)
    if row.kind in ("reshape", "permute") and alone:
        given = [tuple(given)]
    return of_row(machine, row, [held, *given], named, span)


def of_states(
    machine: ModelMachine, held: Stacked, name: str, given: Sequence[Any], span: Span | None
) -> Any:
    """Return the result of a method of the last states of a recurrent layer."""
    if name == "squeeze" and list(given) == [0] and len(held.parts) == 1:
        return held.parts[0]
    raise UnreadableError(f"{name} of the states of a recurrent layer is not carried", span)


def state_of(machine: ModelMachine, held: Stacked, node: ast.Subscript, frame: Variables) -> Tensor:
    """Return one of the last states: `hidden[-1]`, `hidden[-1, :, :]`."""
    (first, *others), from_end = parts_of(machine, node, frame)
    is_one = isinstance(first, int) and all(part == slice(None) for part in others)
    if not is_one or from_end or not -len(held.parts) <= first < len(held.parts):
        reason = "this part of the states of a recurrent layer is not carried"
        raise UnreadableError(reason, frame.module.span(node))
    state: Tensor = held.parts[first]
    return state
