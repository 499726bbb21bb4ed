"""Recurrent layers of libraries, as layers of one direction each.

The gates stand in the order of PyTorch: input, forget, cell, output; or reset, update, new. The
candidate of a GRU is computed of the reset gate times all of the state's part, its bias included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crosscast.messages.diagnostics import Span
from crosscast_migrate.models.attention import part
from crosscast_migrate.models.network import Layer, Network, Step, UnreadableError
from crosscast_migrate.models.objects import LayerObject, Opaque, Stacked, Tensor, Zeros
from crosscast_migrate.models.rows import Reading

if TYPE_CHECKING:
    from crosscast_migrate.models.machine import ModelMachine

_ONE = Reading("recurrent")
_DROPOUT = Reading("dropout")
GATES: Mapping[str, int] = {"lstm": 4, "gru": 3, "rnn": 1}
"""Cell to the number of its gates."""
_INPUT = {"weight": "weight", "bias": "bias"}
_STATE = {"weight": "state", "bias": "state_bias"}
"""Weights of a linear layer to those of the recurrent layer."""


def recurrent(
    machine: ModelMachine, layer: LayerObject, call: Mapping[str, Any], span: Span | None
) -> Any:
    """Return the outputs of a recurrent layer, with its last states where the library gives them.

    Raises:
        UnreadableError: it begins with a state that is not zero.
    """
    graph, settings = machine.graph, layer.settings
    value = call["value"]
    if isinstance(value, Opaque):
        raise UnreadableError(value.text, value.span)
    if not isinstance(value, Tensor):
        raise UnreadableError("a layer gets something that is no value of the model", span)
    if not _begins_with_zeros(call.get("state")):
        raise UnreadableError("a recurrent layer that begins with a state is not carried", span)
    is_turned = value.is_turned
    if is_turned == settings.get("rows_first", True):
        raise UnreadableError(
            "a layer takes the rows on another axis than its input has them", span
        )
    value = replace(value, is_turned=False)
    inputs = settings.get("inputs")
    shape = graph.shape(value)
    if inputs is None:
        inputs = shape[-1] if shape is not None else None
        if inputs is None:
            reason = "the size of the input of a layer (recurrent) is not in the source"
            raise UnreadableError(reason, span)
    graph.learn(value, (None, None, inputs))
    both = settings.get("both", False)
    states: list[Tensor] = []
    count = settings.get("layers", 1)
    for number in range(count):
        outputs = []
        for backward in (False, True) if both else (settings.get("backward", False),):
            name = _name(number, backward and both, settings)
            one = _direction(layer, name, inputs, backward, settings)
            outputs.append(graph.apply_layer(one, [value]))
            last = {"axis": 1, "index": 0 if backward else -1}
            states.append(graph.apply("part", outputs[-1:], last))
        value = outputs[0]
        inputs = settings["units"]
        if both:
            value = graph.apply("concat", outputs, {"axis": 2})
            inputs *= 2
        rate = settings.get("rate", 0.0)
        if rate and number < count - 1:
            dropout = part(layer, f"dropout_{number}", _DROPOUT, {"rate": rate})
            value = graph.apply_layer(dropout, [value])
    return _returned(graph, settings, replace(value, is_turned=is_turned), states, span)


def directions(
    machine: ModelMachine, layer: LayerObject, call: Mapping[str, Any], span: Span | None
) -> Any:
    """Return the outputs of a recurrent layer in both directions."""
    held = layer.settings["of"]
    if not isinstance(held, LayerObject) or held.reading.kind != "recurrence":
        raise UnreadableError("the layer of both directions is not known", span)
    layer.settings = {**held.settings, "both": True}
    layer.reading = replace(layer.reading, kind="recurrence")
    return recurrent(machine, layer, call, span)


def cells(
    machine: ModelMachine, layer: LayerObject, call: Mapping[str, Any], span: Span | None
) -> Any:
    """Return the outputs of a layer that applies a cell to every step."""
    held, backward = layer.settings["of"], layer.settings["backward"]
    if not isinstance(held, LayerObject) or held.reading.kind != "cell":
        raise UnreadableError("the cell of a recurrent layer is not known", span)
    if backward and not layer.settings["keeps_order"]:
        raise UnreadableError("outputs in the order backwards are not carried", span)
    layer.settings = {**held.settings, "backward": backward}
    layer.reading = replace(layer.reading, kind="recurrence")
    return recurrent(machine, layer, call, span)


COMPOSED = {"recurrence": recurrent, "directions": directions, "cells": cells}
"""Kinds of layers to what their call computes."""


def _returned(
    graph: Any, settings: Mapping[str, Any], value: Tensor, states: list[Tensor], span: Span | None
) -> Any:
    match settings.get("returns", "all" if settings.get("sequences", True) else "last"):
        case "states":
            if settings["cell"] != "lstm":
                return value, Stacked(tuple(states))
            reason = "the cells of an LSTM, beside its outputs, are not carried"
            return value, (Stacked(tuple(states)), Opaque(reason, span, is_cause=True))
        case "last":
            if len(states) == 1:
                return states[0]
            return graph.apply("concat", states[-2:], {"axis": 1})
    return value


def _begins_with_zeros(state: Any) -> bool:
    if isinstance(state, tuple | list):
        return all(map(_begins_with_zeros, state))
    return state is None or isinstance(state, Zeros)


def _name(number: int, backward: bool, settings: Mapping[str, Any]) -> str:
    words = [str(number)] if settings.get("layers", 1) > 1 else []
    if settings.get("both"):
        words.append("backward" if backward else "forward")
    return "_".join(words)


def _direction(
    layer: LayerObject, name: str, inputs: int, backward: bool, settings: Mapping[str, Any]
) -> LayerObject:
    own: dict[str, Any] = {
        "cell": settings["cell"],
        "inputs": inputs,
        "units": settings["units"],
        "backward": backward,
        "bias": settings.get("bias", True),
        "state_bias": settings.get("state_bias", settings.get("bias", True)),
    }
    if settings.get("sequences") is not None:  # one argument says whether there are biases
        own["state_bias"] = own["state_bias"] and own["bias"]
    one = part(layer, name, _ONE, own)
    one.name = one.name.rstrip("_")
    return one


def with_cells(network: Network, cells: Mapping[str, str]) -> Network:
    """Return a model whose recurrent layers are two linear layers and a function.

    Args:
        network: the model.
        cells: cell to the function of the target; empty where it has such layers itself.

    Raises:
        UnreadableError: the target has no such cell.
    """
    if not cells:
        return network
    layers: list[Layer] = []
    for layer in network.layers:
        if layer.kind == "recurrent":
            layers += _linears(layer, cells)
        else:
            layers.append(layer)
    last = max((step.output for step in network.steps), default=0)
    steps: list[Step] = []
    for step in network.steps:
        if network.kind_of(step) != "recurrent":
            steps.append(step)
            continue
        last += 1
        settings = network.layer(step.layer).settings
        held = {"function": cells[settings["cell"]], "state": f"{step.layer}_state"}
        held["backward"] = settings["backward"]
        steps.append(replace(step, output=last, layer=f"{step.layer}_input"))
        steps.append(Step("recurrence", (last,), step.output, held))
    return replace(network, layers=tuple(layers), steps=tuple(steps))


def _linears(layer: Layer, cells: Mapping[str, str]) -> Iterator[Layer]:
    """Yield the layer of the inputs and that of the state."""
    settings = layer.settings
    cell, units = settings["cell"], settings["units"]
    if cell not in cells:
        raise UnreadableError(f"a recurrent layer ({cell}) has no counterpart")
    whole = GATES[cell] * units
    for word, names, inputs, bias in (
        ("input", _INPUT, settings["inputs"], settings["bias"]),
        ("state", _STATE, units, settings["state_bias"]),
    ):
        sizes = {"inputs": inputs, "units": whole, "bias": bias}
        initial = {
            name: layer.initial[own]
            for name, own in names.items()
            if own in layer.initial and (name == "weight" or bias)
        }
        yield Layer(f"{layer.name}_{word}", "linear", sizes, initial)
