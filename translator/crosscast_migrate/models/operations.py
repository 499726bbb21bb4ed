"""Layers of the library applied to values: what they are in neutral operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from crosscast.messages.diagnostics import Span
from crosscast_migrate.models.graph import Graph
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import Dim, LayerObject, Opaque, Sizes, Tensor
from crosscast_migrate.models.settings import is_pair, normalized
from crosscast_migrate.models.slices import SizeOf


def operation(
    graph: Graph, layer: LayerObject, inputs: Sequence[Tensor], span: Span | None
) -> Tensor:
    """Return the value of a layer or an operation."""
    kind = layer.reading.kind
    match kind:
        case "add" | "multiply" if len(inputs) > 1:
            return reduce(lambda left, right: graph.apply(kind, [left, right], {}), inputs)
        case "adaptive_avg" | "adaptive_max":
            return _adaptive(graph, kind, layer, inputs[0])
        case "swap":
            return _swapped(graph, layer.settings, inputs[0], span)
        case "reshape_rows":
            return reshaped(graph, inputs[0], (None, *layer.settings["shape"]), span)
        case "permute_rows":
            axes = (0, *layer.settings["axes"])
            return graph.apply("permute", inputs, {"axes": axes})
        case "permute":
            axes = tuple(layer.settings["axes"])
            has_rows = inputs[0].number not in graph.rowless
            if has_rows and axes[:2] == (1, 0) and axes[2:] == tuple(range(2, len(axes))):
                return _turned(inputs[0])
            known = all(isinstance(axis, int) for axis in axes)
            if not known or (has_rows and axes[0] != 0):
                raise UnreadableError("the axis of the rows must stay where it is", span)
            return graph.apply("permute", inputs, {"axes": axes})
        case "squeeze" | "unsqueeze" if not isinstance(layer.settings["axis"], int):
            return _one_by_one(graph, layer, inputs[0], span)
        case "pad_all":
            return _padded(graph, layer.settings, inputs[0], span)
        case "flatten" if layer.settings["start"] == 0:
            raise UnreadableError("rows must not be joined", span)
    return graph.apply_layer(layer, inputs)


def _adaptive(graph: Graph, kind: str, layer: LayerObject, tensor: Tensor) -> Tensor:
    settings = normalized(kind, layer.settings, layer.span)
    if set(settings["size"]) == {1}:
        name = "global_avg" if kind == "adaptive_avg" else "global_max"
        return graph.apply(name, [tensor], {"rank": settings["rank"], "keepdims": True})
    return graph.apply(kind, [tensor], settings)


def _one_by_one(graph: Graph, layer: LayerObject, tensor: Tensor, span: Span | None) -> Tensor:
    """Return a value with several axes of one taken out or put in."""
    kind, axes = layer.reading.kind, layer.settings["axis"]
    if not isinstance(axes, list | tuple) or not all(isinstance(a, int) and a > 0 for a in axes):
        raise UnreadableError(f"the axes of {kind} must be known, and counted from the first", span)
    for axis in sorted(axes, reverse=kind == "squeeze"):
        tensor = graph.apply(kind, [tensor], {"axis": axis})
    return tensor


def _padded(graph: Graph, settings: dict[str, Any], tensor: Tensor, span: Span | None) -> Tensor:
    """Return an image with more around it, from what stands before and behind every axis."""
    match settings["pairs"]:
        case [[0, 0], *pairs, [0, 0]] if pairs and all(map(is_pair, pairs)):
            sizes = tuple((low, high) for low, high in pairs)
            value = float(settings["value"])
            pad = {"rank": len(sizes), "pairs": sizes, "value": value}
            return graph.apply("zero_pad", [tensor], pad)
    raise UnreadableError("padding of the rows or the channels is not carried", span)


def _swapped(graph: Graph, settings: dict[str, Any], tensor: Tensor, span: Span | None) -> Tensor:
    shape = graph.shape(tensor)
    first, second = settings["first"], settings["second"]
    if {first, second} == {0, 1} and tensor.number not in graph.rowless:
        return _turned(tensor)
    if shape is None and (first > 0) == (second > 0) and 0 not in (first, second):
        return graph.apply("swap", [tensor], {"first": first, "second": second})
    if shape is None:
        raise UnreadableError("transpose of a value whose number of dimensions is not known", span)
    axes = list(range(len(shape)))
    first, second = first % len(axes), second % len(axes)
    axes[first], axes[second] = axes[second], axes[first]
    if axes[0] != 0 and tensor.number not in graph.rowless:
        raise UnreadableError("the axis of the rows must stay where it is", span)
    return graph.apply("permute", [tensor], {"axes": tuple(axes)})


def _turned(tensor: Tensor) -> Tensor:
    """Return a value with its first two axes in the other order, which its steps do not see."""
    return replace(tensor, is_turned=not tensor.is_turned)


def reshaped(graph: Graph, tensor: Tensor, wanted: Any, span: Span | None) -> Tensor:
    """Return a value with another shape; the first axis must stay that of the rows."""
    if isinstance(wanted, Sizes):
        raise UnreadableError("the shape of another value is not carried", span)
    if not isinstance(wanted, list | tuple):
        raise UnreadableError("a shape that is not known", span)
    inputs = [tensor]
    entries = [_entry(size, place, inputs, span) for place, size in enumerate(wanted)]
    if entries[0] == -1 and -1 not in entries[1:]:
        shape = graph.shape(tensor)
        whole = 1
        for size in entries[1:]:
            whole *= size if isinstance(size, int) else 1
        known = shape is not None and None not in shape[1:]
        if len(entries) == 1 and not known:
            raise UnreadableError("the first axis must stay that of the rows", span)
        if shape is not None and known and _count(shape[1:]) != whole:
            raise UnreadableError("rows must not be joined or split", span)
        entries[0] = None
    if entries[0] is not None:
        raise UnreadableError("the first axis must stay that of the rows", span)
    if entries[1:] == [-1]:
        return graph.apply("flatten", [tensor], {"start": 1, "end": -1})
    return graph.apply("reshape", inputs, {"shape": tuple(entries)})


def _count(sizes: Sequence[int | None]) -> int:
    whole = 1
    for size in sizes:
        whole *= size or 1
    return whole


def _entry(size: Any, place: int, inputs: list[Tensor], span: Span | None) -> int | SizeOf | None:
    match size:
        case Dim(axis=0) | None if place == 0:
            return None
        case Dim(tensor=tensor, axis=axis) if axis:
            if tensor not in inputs:
                inputs.append(tensor)
            return SizeOf(inputs.index(tensor), axis)
        case int() if not isinstance(size, bool):
            return size
        case Dim() | Opaque():
            raise UnreadableError("a size that is known only when the model runs", span)
    raise UnreadableError(f"{size!r} is no size", span)
