"""Images in the layout of the target: values are permuted where an operation needs it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from crosscast_migrate.models.network import Channels, Layer, Network, Shape, Step
from crosscast_migrate.models.shapes import ON_IMAGES, PAIRWISE, POINTWISE


def with_channels(network: Network, channels: Channels) -> Network:
    """Return a model whose operations on images have channels where the target has them.

    Inputs and output keep the layout of the source, so that the rows stay the same.
    """
    if network.channels == channels:
        return network
    return _Mover(network, channels).moved()


class _Mover:
    """Values in the layout of the source and, where there is one, a copy in that of the target."""

    def __init__(self, network: Network, channels: Channels) -> None:
        self.network = network
        self.channels = channels
        self.steps: list[Step] = []
        self.shapes: dict[int, Shape] = {}
        self.plain: dict[int, int] = {}
        """Value of the source to a value in its layout."""
        self.native: dict[int, int] = {}
        self.rank: dict[int, int] = {}
        """Value of the source to the axes of its image."""
        self.layers = {layer.name: layer for layer in network.layers}
        self._values = len(network.inputs)

    def moved(self) -> Network:
        """Return the model."""
        for number in range(len(self.network.inputs)):
            self.plain[number] = number
            self._keep_shape(number, number, native=False)
        for step in self.network.steps:
            self._step(step)
        output = self._plain(self.network.output)
        return replace(
            self.network,
            channels=self.channels,
            layers=tuple(self.layers.values()),
            steps=tuple(self.steps),
            output=output,
            shapes=self.shapes,
        )

    def _step(self, step: Step) -> None:
        kind = self.network.kind_of(step)
        rank = self._rank_of(kind, step)
        follows = kind in POINTWISE or kind in PAIRWISE or kind == "concat"
        if not step.inputs:
            self._add(step, [], native=False)
        elif kind in ON_IMAGES or (kind == "batch_norm" and rank):
            self._native_step(kind, step, rank or 1)
        elif follows and all(value in self.native for value in step.inputs):
            self._native_step(kind, step, self.rank[step.inputs[0]])
        else:
            self._add(step, [self._plain(value) for value in step.inputs], native=False)

    def _rank_of(self, kind: str, step: Step) -> int:
        settings = self._settings(step)
        shape = self.network.shapes.get(step.inputs[0]) if step.inputs else None
        if kind in ON_IMAGES:
            return int(settings["rank"])
        return len(shape) - 2 if shape is not None else int(settings.get("rank") or 0)

    def _settings(self, step: Step) -> dict[str, Any]:
        return dict(self.layers[step.layer].settings if step.layer else step.settings)

    def _native_step(self, kind: str, step: Step, rank: int) -> None:
        values = [self._native(value, rank) for value in step.inputs]
        settings = self._settings(step)
        if kind in ("batch_norm", "concat"):
            settings["axis"] = self._axis(settings["axis"], rank)
        if kind == "batch_norm":
            settings["rank"] = rank
        layer = self.layers.get(step.layer)
        if layer is not None:
            self.layers[step.layer] = Layer(layer.name, kind, settings, layer.initial)
        flat = kind == "known_model" or not settings.get("keepdims", True)
        self._add(replace(step, settings=settings), values, native=not flat)
        if not flat:
            self.rank[step.output] = rank

    def _axis(self, axis: int, rank: int) -> int:
        """Return the axis of the target for one of the source."""
        place = axis % (rank + 2)
        if place == 0:
            return 0
        if self.channels == "last":
            return rank + 1 if place == 1 else place - 1
        return 1 if place == rank + 1 else place + 1

    def _add(self, step: Step, inputs: list[int], *, native: bool) -> None:
        number = self._number()
        self.steps.append(replace(step, inputs=tuple(inputs), output=number))
        (self.native if native else self.plain)[step.output] = number
        self._keep_shape(step.output, number, native=native)

    def _number(self) -> int:
        number = self._values
        self._values += 1
        return number

    def _keep_shape(self, source: int, number: int, *, native: bool) -> None:
        shape = self.network.shapes.get(source)
        if shape is None:
            return
        if native:
            order = _order(self.channels, len(shape) - 2)
            shape = tuple(shape[axis] for axis in order)
        self.shapes[number] = shape

    def _native(self, value: int, rank: int) -> int:
        """Return a value in the layout of the target."""
        if value not in self.native:
            order = _order(self.channels, rank)
            self.native[value] = self._permuted(value, self.plain[value], order, native=True)
            self.rank[value] = rank
        return self.native[value]

    def _plain(self, value: int) -> int:
        """Return a value in the layout of the source."""
        if value not in self.plain:
            order = _order(self.network.channels, self.rank[value])
            self.plain[value] = self._permuted(value, self.native[value], order, native=False)
        return self.plain[value]

    def _permuted(self, source: int, number: int, order: tuple[int, ...], *, native: bool) -> int:
        output = self._number()
        self.steps.append(Step("permute", (number,), output, {"axes": order}))
        self._keep_shape(source, output, native=native)
        return output


def _order(channels: Channels, rank: int) -> tuple[int, ...]:
    """Return the axes that bring an image from the other layout to this one."""
    if channels == "last":
        return (0, *range(2, rank + 2), 1)
    return (0, rank + 1, *range(1, rank + 1))
