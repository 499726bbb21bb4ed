"""Padding in the form of the target: what its layers cannot say becomes a step of its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from crosscast_migrate.models.network import Network, Shape, Step, UnreadableError
from crosscast_migrate.models.tables import Pads

Pairs = tuple[tuple[int, int], ...]


def with_padding(network: Network, pads: Collection[Pads]) -> Network:
    """Return a model whose layers have the padding that a target can express.

    Args:
        network: the model, in the layout of the target.
        pads: how its layers can pad.

    Raises:
        UnreadableError: padding depends on the size of the image, which is not known.
    """
    steps: list[Step] = []
    layers = {layer.name: layer for layer in network.layers}
    next_value = max((step.output for step in network.steps), default=0) + 1
    for step in network.steps:
        settings = dict(layers[step.layer].settings if step.layer else step.settings)
        if "padding" not in settings:
            steps.append(step)
            continue
        kind = network.kind_of(step)
        outside, inside = _split(kind, settings, _image(network, step), pads)
        settings["padding"] = inside
        if step.layer:
            if outside and _uses(network, step.layer) > 1:
                raise UnreadableError("a layer with padding of its own is called twice")
            layers[step.layer] = replace(layers[step.layer], settings=settings)
        if outside:
            number = -float("inf") if kind == "max_pool" else 0.0
            pad = {"rank": settings["rank"], "pairs": outside, "value": number}
            steps.append(Step("zero_pad", step.inputs, next_value, pad))
            step = replace(step, inputs=(next_value,))
            next_value += 1
        steps.append(replace(step, settings=settings))
    return replace(network, layers=tuple(layers.values()), steps=tuple(steps))


def _uses(network: Network, layer: str) -> int:
    return sum(step.layer == layer for step in network.steps)


def _image(network: Network, step: Step) -> Sequence[int | None]:
    shape: Shape | None = network.shapes.get(step.inputs[0])
    if shape is None:
        return (None,) * 3
    return shape[2:] if network.channels == "first" else shape[1:-1]


def _split(
    kind: str, settings: dict[str, Any], image: Sequence[int | None], pads: Collection[Pads]
) -> tuple[Pairs, Any]:
    """Return the padding of a step before a layer (empty for none), and that of the layer."""
    given = settings["padding"]
    none: Pairs = tuple((0, 0) for _ in settings["kernel"])
    if given == "same" and "same" in pads:
        return (), given
    pairs = _of_same(settings, image) if given == "same" else given
    if pairs == none:
        return (), none
    even = all(low == high for low, high in pairs)
    counts = kind != "avg_pool" or settings["counts_padding"]
    if "uneven" in pads or (even and "even" in pads):
        return (), pairs
    if "same" in pads and kind == "conv" and _is_same(settings, pairs):
        return (), "same"
    if not counts:
        raise UnreadableError("padding that an average does not count")
    return pairs, none


def _windows(settings: dict[str, Any]) -> list[int]:
    dilation = settings.get("dilation", (1,) * len(settings["kernel"]))
    return [d * (k - 1) + 1 for d, k in zip(dilation, settings["kernel"], strict=True)]


def _is_same(settings: dict[str, Any], pairs: Pairs) -> bool:
    """Whether padding is that of "same", whatever the size of the image."""
    wanted = tuple(((w - 1) // 2, w - 1 - (w - 1) // 2) for w in _windows(settings))
    return set(settings["stride"]) == {1} and pairs == wanted


def _of_same(settings: dict[str, Any], image: Sequence[int | None]) -> Pairs:
    pairs = []
    for axis, window in enumerate(_windows(settings)):
        stride, size = settings["stride"][axis], image[axis]
        if stride == 1 or window == 1:  # a window of one never reaches beyond the image
            whole = window - 1
        elif size is None:
            raise UnreadableError("padding 'same' with a stride depends on the size of the image")
        else:
            whole = max((-(-size // stride) - 1) * stride + window - size, 0)
        pairs.append((whole // 2, whole - whole // 2))
    return tuple(pairs)
