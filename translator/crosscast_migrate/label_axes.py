"""Losses of several labels in a row, for tokens or pixels: classes last, a mean over labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from crosscast_migrate.models.installed import model_tables
from crosscast_migrate.models.network import Network, Shape, Step
from crosscast_reading.lift.recipe_draft import Filled

_BY = "accumulation.normalize_by"
_FLUSH = "flush"
"""A tail that no recipe has with a mean over labels."""


def with_labels(
    network: Network | None, fields: Mapping[str, Filled], *, is_flat: bool, ignores: bool
) -> tuple[Network | None, dict[str, Filled]]:
    """Return a model with its classes on the last axis, and fields with the mean over labels.

    Args:
        network: the model, if it was read.
        fields: of the recipe.
        is_flat: whether the loss takes every label as a row, whatever model it is.
        ignores: whether some labels count for nothing.
    """
    result, kind = dict(fields), fields.get("loss.kind")
    if kind is None or kind.how == "assumed" or kind.value != "cross_entropy":
        return network, result
    if network is None:
        if is_flat or ignores:
            result[_BY] = _mean_of_labels(fields)
        return network, result
    shape = network.shapes.get(network.output)
    if shape is None and not network.is_flat:
        if any(layer.kind == "embedding" for layer in network.layers):
            note = "whether a row has one label, or one for every token, was not read"
            result[_BY] = replace(fields[_BY], how="assumed", note=note)
        return network, result
    several = shape is None or len(shape) > 2
    if several and not network.is_flat and shape is not None and _class_axis(network) == 1:
        network = _classes_last(network, shape)
    if several or ignores:
        result[_BY] = _mean_of_labels(fields)
    return network, result


def _mean_of_labels(fields: Mapping[str, Filled]) -> Filled:
    steps, tail = fields["accumulation.steps"], fields.get("accumulation.tail")
    divisor = replace(fields[_BY], value="token", how="derived", note="a row has several labels")
    if steps.value != 1 or steps.how == "assumed":
        note = "the mean over labels of a window, where micro-batches have as many of them"
        divisor = replace(divisor, how="assumed", note=note)
    if tail is not None and tail.value == _FLUSH:
        note = "a mean over labels has no short window that counts as a whole one"
        divisor = replace(divisor, value=fields[_BY].value, how="assumed", note=note)
    return divisor


def _class_axis(network: Network) -> int:
    """Return the axis on which the loss of the source takes the classes."""
    reading = model_tables()[network.source].reading
    return reading.class_axis if reading is not None else -1


def _classes_last(network: Network, shape: Shape) -> Network:
    """Return a model that has the classes on axis 1, with them on the last axis."""
    axes = (0, *range(2, len(shape)), 1)
    output = 1 + max([network.output, *(step.output for step in network.steps)])
    step = Step("permute", (network.output,), output, {"axes": axes})
    shapes = {**network.shapes, output: tuple(shape[axis] for axis in axes)}
    return replace(network, steps=(*network.steps, step), output=output, shapes=shapes)
