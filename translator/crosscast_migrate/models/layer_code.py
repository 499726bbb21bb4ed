"""Layers as code: the constructor of a written model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crosscast.emit.render import py_literal
from crosscast_migrate.models import initials, known_models
from crosscast_migrate.models.code_lines import long, wrapped
from crosscast_migrate.models.graph import NORMS
from crosscast_migrate.models.network import (
    Initial,
    Layer,
    Network,
    Settings,
    UnreadableError,
)
from crosscast_migrate.models.tables import ModelTables, ModelWriting

_ONE_ARGUMENT = {
    "weight_or_affine": ("weight", "affine"),
    "bias_or_shift": ("b", "shift", "affine"),
}
"""Arguments that say whether a normalization has a weight and what it starts from."""
_USUAL: Mapping[str, tuple[str, str]] = {
    "padding_index": ("None", "embedding with a row that stays zero"),
    "bias": ("True", "layer without a bias"),
    "affine": ("True", "normalization without weights"),
    "shift": ("True", "normalization without a bias"),
    "groups": ("1", "convolution in groups"),
    "dilation": ("1", "convolution with holes"),
}
"""Setting to its usual value, which a row need not print, and what another value is."""


class LayerCode:
    """Writes the layers of a model, which has the layout and the padding of the target."""

    def __init__(self, network: Network, tables: ModelTables, writing: ModelWriting) -> None:
        self.network = network
        self.tables = tables
        self.writing = writing

    def constructor(self) -> Iterator[str]:
        """Yield the lines of the constructor.

        Raises:
            UnreadableError: a layer has no counterpart.
        """
        yield from (f"    {line}" for line in self.writing.constructor)
        for layer in self.network.layers:
            if layer.kind == "known_model":
                first, *others = known_models.written(layer.settings, self.tables)
                yield f"        self.{layer.name} = {first}"
                yield from (f"        {line}" for line in others)
            else:
                yield from self._layer(layer)
        for step in self.network.steps if self.writing.constant else ():
            if step.kind == "constant":
                shown = {"name": step.settings["name"], "numbers": numbers_text(step.settings)}
                yield from long(f"        {self.writing.constant.format(**shown)}")
        yield from (f"        {line}" for line in self.writing.constructor_end)
        yield ""

    def _layer(self, layer: Layer) -> Iterator[str]:
        row = self.writing.layers.get(layer.kind)
        if row is None:
            raise UnreadableError(f"{layer.kind} has no counterpart")
        values = self._values(layer, "".join(row))
        arguments = [text for part in row[1:] if (text := _argument(part, values))]
        yield from wrapped(
            f"        self.{layer.name} = {row[0].format(**values)}(", arguments, ")"
        )
        if self.writing.fills:
            for name in sorted(layer.initial, reverse=True):
                if statement := self._initial(layer, name):
                    yield from long(f"        {statement}")
        if layer.kind in self.writing.built:
            built = self.writing.built[layer.kind].format(layer=layer.name, **values)
            if built:
                yield from long(f"        {built.replace('{layer}', layer.name)}")

    def _values(self, layer: Layer, row: str) -> dict[str, Any]:
        """Return the values that the row of a layer can print.

        Args:
            layer: the layer.
            row: its row as one text, which shows what the target can say.
        """
        settings = layer.settings
        values = printed(settings, self.writing)
        values["name"] = py_literal(layer.name)
        for name, place in (("weight", "weight"), ("bias", "b")):
            values[place] = "" if self.writing.fills else self._initial(layer, name)
            if values[place] and not _says(row, place):
                raise UnreadableError(f"{self.tables.title} has no initial {name} of {layer.kind}")
        if settings.get("bias") is False:
            values["b"] = self.writing.no_bias
        if layer.kind in NORMS:
            values["weight_or_affine"] = values["weight"] or values["affine"]
            values["bias_or_shift"] = values["b"] or values.get("shift", values["affine"])
        if layer.kind == "batch_norm":
            rank = self._norm_rank(layer)
            values["norm_rank"] = rank or 1
            values["new"] = py_literal(round(1.0 - settings["keep"], 12))
            sizes: list[int | None] = [None] * (rank + 2)
            axis = settings["axis"] % len(sizes) if rank or settings["axis"] == 1 else 1
            sizes[axis] = settings["features"]
            values["norm_shape"] = py_literal(tuple(sizes))
            if settings["axis"] == 1 and rank == 0:
                values["axis"] = "1"
            if "{axis}" not in row and axis != 1:
                raise UnreadableError("normalization over an axis other than that of the channels")
        if layer.kind == "layer_norm":
            count = len(settings["shape"])
            axes = tuple(range(-count, 0))
            values["norm_axes"] = "-1" if count == 1 else py_literal(axes)
            values["shape_items"] = ", ".join(map(str, settings["shape"]))
            values["shape"] = values["shape_items"] if count == 1 else py_literal(settings["shape"])
        if layer.kind == "conv":
            values["nones"] = ", ".join(["None"] * settings["rank"])
        for name, (usual, other) in _USUAL.items():
            is_said = _says(row, name) or (name == "bias" and self.writing.no_bias)
            if values.get(name, usual) != usual and not is_said:
                raise UnreadableError(f"{self.tables.title} has no {other}")
        if layer.kind in self.writing.values:
            values |= self.writing.values[layer.kind](settings)
        return values

    def _norm_rank(self, layer: Layer) -> int:
        """Return the axes of the images that a batch normalization gets; 0 for plain rows."""
        if layer.settings.get("rank"):
            return int(layer.settings["rank"])
        step = next(step for step in self.network.steps if step.layer == layer.name)
        shape = self.network.shapes.get(step.inputs[0])
        return len(shape) - 2 if shape is not None else 0

    def _initial(self, layer: Layer, name: str) -> str:
        """Return the code for the initial values of a weight; empty for those it has by default."""
        initial = layer.initial.get(name)
        if initial is None or self._is_default(layer, name, initial):
            return ""
        if initial.name not in self.writing.initials:
            raise UnreadableError(f"weights from {initial.name} have no counterpart")
        number = float(f"{initial.number:.7g}")
        twice = float(f"{2 * initial.number:.7g}")
        return self.writing.initials[initial.name].format(
            w=f"self.{layer.name}.{name}", n=py_literal(number), twice=py_literal(twice)
        )

    def _is_default(self, layer: Layer, name: str, initial: Initial) -> bool:
        if layer.kind in NORMS:
            return initial == Initial("constant", 1.0 if name == "weight" else 0.0)
        default = self.tables.initials.get(layer.kind, {}).get(name)
        if default is None:
            return False
        usual = default(initials.fans(layer.kind, layer.settings))
        return usual.name == initial.name and math.isclose(usual.number, initial.number)


def numbers_text(settings: Settings) -> str:
    """Return numbers that are not trained as an expression."""
    return f"{settings['name']}_numbers()" if settings["before"] else str(settings["text"])


def numbers(network: Network) -> list[str]:
    """Return the functions that compute numbers which are not trained, step by step."""
    functions = []
    for step in network.steps:
        if step.kind == "constant" and step.settings["before"]:
            name, text = step.settings["name"], step.settings["text"]
            lines = [f"def {name}_numbers() -> np.ndarray:"]
            lines.append(f'    """Return the numbers of `{name}`, which are not trained."""')
            for statement in step.settings["before"]:
                lines += long(f"    {statement}")
            lines += long(f"    return {text}")
            functions.append("\n".join(lines))
    return functions


def _says(row: str, name: str) -> bool:
    """Whether a row prints a value, alone or in an argument that says several."""
    places = (name, *(place for place, said in _ONE_ARGUMENT.items() if name in said))
    return any(f"{{{place}}}" in row for place in places)


def _argument(part: str, values: Mapping[str, Any]) -> str:
    """Return one argument; empty where its value is the default or nothing."""
    template, _, default = part.partition("|")
    name, equals, value = template.partition("=")
    text = (value if equals else name).format(**values)
    if not text or (default and text == default):
        return ""
    return f"{name}={text}" if equals else text


def printed(settings: Mapping[str, Any], writing: ModelWriting) -> dict[str, Any]:
    """Return settings as code."""
    values: dict[str, Any] = {}
    for name, value in settings.items():
        match value:
            case tuple() if name in ("kernel", "stride", "dilation", "size"):
                same = len(set(value)) == 1
                values[name] = py_literal(value[0] if same else value)
            case str() if name == "padding":
                values[name] = value
            case tuple() if name == "padding":
                sizes = tuple(low for low, _ in value)
                values[name] = py_literal(sizes[0] if len(set(sizes)) == 1 else sizes)
                if "even" not in writing.pads:
                    values[name] = "valid"
            case tuple() if name == "pairs":
                values |= _pairs(value, settings)
            case float() if math.isinf(value):
                values[name] = 'float("-inf")'
            case tuple() if name == "shape" and "eps" not in settings:
                pass  # it is written with the inputs of its step
            case list():
                values[name] = py_literal(tuple(value))
            case _:
                values[name] = py_literal(value)
    return values


def _pairs(pairs: Sequence[tuple[int, int]], settings: Mapping[str, Any]) -> dict[str, str]:
    flat = [size for pair in reversed(pairs) for size in pair]
    return {
        "flat_pairs": f"[{', '.join(map(str, flat))}]",
        "all_pairs": py_literal(((0, 0), *pairs, (0, 0))),
        "value": py_literal(settings.get("value", 0.0))
        if math.isfinite(settings.get("value", 0.0))
        else 'float("-inf")',
    }
