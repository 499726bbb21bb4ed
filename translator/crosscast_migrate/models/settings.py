"""Arguments of a call to neutral settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crosscast.messages.diagnostics import Span
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import Opaque, Training
from crosscast_migrate.models.rows import REQUIRED, Argument, Reading

_FREE = frozenset({"weight_initial", "bias_initial"})
"""Settings that may have any value: what cannot be read of them is told."""
_OBJECTS = frozenset({*_FREE, "activation", "training"})


def bound(
    reading: Reading, given: Sequence[Any], named: Mapping[str, Any], span: Span | None
) -> dict[str, Any]:
    """Return the settings that a call gives to a layer or an operation.

    Raises:
        UnreadableError: an argument is not known, or has a value that is not carried.
    """
    if len(given) > len(reading.arguments):
        raise UnreadableError("a call has more arguments than its row in the table", span)
    values: dict[str, Any] = dict(zip((a.name for a in reading.arguments), given, strict=False))
    names = {name: a.name for a in reading.arguments for name in (a.name, *a.others)}
    for name, value in named.items():
        if name not in names:
            raise UnreadableError(f"the argument {name} is not in the table", span)
        values[names[name]] = value
    settings = dict(reading.fixed)
    for argument in reading.arguments:
        _put(settings, argument, values.get(argument.name, argument.default), span)
    return settings


def _put(settings: dict[str, Any], argument: Argument, value: Any, span: Span | None) -> None:
    if argument.setting == "_":
        return
    if value is REQUIRED:
        raise UnreadableError(f"{argument.name} is missing", span)
    if not argument.setting:
        if isinstance(value, Opaque) or value != argument.default:
            raise UnreadableError(f"{argument.name} other than its default is not carried", span)
        return
    if isinstance(value, Opaque) and argument.setting not in _OBJECTS:
        raise UnreadableError(f"{argument.name} of a layer: {value.text}", span)
    if isinstance(value, Training) and argument.setting not in _OBJECTS:
        raise UnreadableError(f"{argument.name} depends on training", span)
    settings[argument.setting] = argument.convert(value) if argument.convert else value


def normalized(kind: str, settings: dict[str, Any], span: Span | None) -> dict[str, Any]:
    """Return settings with sizes of windows as tuples and padding as pairs, one for each axis.

    Raises:
        UnreadableError: a value that has no meaning here.
    """
    rank = settings.get("rank")
    if "kernel" in settings:
        if rank is None and isinstance(settings["kernel"], list | tuple):
            settings["rank"] = rank = len(settings["kernel"])  # the name of the layer says none
        settings["kernel"] = sizes(settings["kernel"], rank or 1, span)
        stride = settings.get("stride")
        settings["stride"] = (
            settings["kernel"] if stride in (None, ()) else sizes(stride, rank or 1, span)
        )
        settings["padding"] = _padding(settings["padding"], settings["kernel"], span)
    if "dilation" in settings:
        settings["dilation"] = sizes(settings["dilation"], rank or 1, span)
    if kind in ("adaptive_avg", "adaptive_max"):
        settings["size"] = sizes(settings["size"], rank or 1, span)
    if kind == "zero_pad":
        settings["pairs"] = _pairs(settings["pairs"], span)
    if kind == "layer_norm" and isinstance(settings["shape"], int):
        settings["shape"] = (settings["shape"],)
    if kind in ("batch_norm", "layer_norm"):
        _with_weights(kind, settings, span)
    if kind in ("mean", "sum", "max"):
        settings["axis"] = _axes(settings["axis"], span)
    if kind in ("softmax", "log_softmax") and settings["axis"] is None:
        raise UnreadableError("softmax without an axis depends on the number of dimensions", span)
    return settings


def _with_weights(kind: str, settings: dict[str, Any], span: Span | None) -> None:
    """Put down which weights a normalization has: `affine` for its weight, `shift` for its bias."""
    affine = settings["affine"] and settings.get("weight_initial") is not False
    shift = settings.get("shift", settings["affine"]) and settings.get("bias_initial") is not False
    if settings.pop("bias_needs_weight", False):
        shift = shift and affine
    settings["affine"] = affine
    if kind == "layer_norm":
        settings["shift"] = shift
    elif settings.pop("shift", shift) != affine or shift != affine:
        raise UnreadableError("a batch normalization with either a weight or a bias", span)


def sizes(value: Any, rank: int, span: Span | None) -> tuple[int, ...]:
    """Return one size for each axis."""
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,) * rank
    if isinstance(value, list | tuple) and len(value) in (1, rank):
        parts = tuple(value) * (rank if len(value) == 1 else 1)
        if all(isinstance(part, int) for part in parts):
            return parts
    raise UnreadableError(f"{value!r} is no size of {rank} axes", span)


def _padding(value: Any, kernel: tuple[int, ...], span: Span | None) -> Any:
    match value:
        case str() as word if word.lower() == "same":
            return "same"
        case str() as word if word.lower() == "valid":
            return tuple((0, 0) for _ in kernel)
        case str():
            raise UnreadableError(f"padding {value!r} is not carried", span)
    match value:
        case list() | tuple() if len(value) == len(kernel) and all(map(is_pair, value)):
            return tuple((low, high) for low, high in value)
    return tuple((size, size) for size in sizes(value, len(kernel), span))


def is_pair(value: Any) -> bool:
    """Whether something is what stands before and behind an axis."""
    is_two = isinstance(value, list | tuple) and len(value) == 2
    return is_two and all(isinstance(size, int) for size in value)


def _pairs(value: Any, span: Span | None) -> tuple[tuple[int, int], ...]:
    """Return the zeros before and after each axis of an image."""
    match value:
        case int():
            return ((value, value), (value, value))
        case (int() as left, int() as right, int() as top, int() as bottom):
            return ((top, bottom), (left, right))
        case (int() as height, int() as width):
            return ((height, height), (width, width))
        case ((int() as top, int() as bottom), (int() as left, int() as right)):
            return ((top, bottom), (left, right))
    raise UnreadableError(f"padding {value!r} is not known", span)


def _axes(value: Any, span: Span | None) -> tuple[int, ...]:
    match value:
        case int():
            return (value,)
        case list() | tuple() if value and all(isinstance(axis, int) for axis in value):
            return tuple(value)
    raise UnreadableError("a mean, sum or maximum over all numbers is not carried", span)
