"""A model without the steps that its output does not depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crosscast_migrate.models.network import Network, UnreadableError


def pruned(network: Network, inputs: Sequence[int]) -> Network:
    """Return a model whose inputs are the values 0, 1, ..., with the steps that it needs.

    Args:
        network: the model.
        inputs: numbers of its inputs.

    Raises:
        UnreadableError: the output depends on a value that is no input.
    """
    needed, kept = {network.output}, []
    for step in reversed(network.steps):
        if step.output in needed:
            kept.append(step)
            needed.update(step.inputs)
    kept.reverse()
    number = {value: place for place, value in enumerate(inputs)}
    for step in kept:
        number[step.output] = len(number)
    if not needed <= number.keys():
        raise UnreadableError("the output depends on a value that is no input of the model")
    layers = {step.layer for step in kept}
    return replace(
        network,
        layers=tuple(layer for layer in network.layers if layer.name in layers),
        steps=tuple(
            replace(
                step,
                inputs=tuple(number[value] for value in step.inputs),
                output=number[step.output],
            )
            for step in kept
        ),
        output=number[network.output],
        shapes={number[value]: s for value, s in network.shapes.items() if value in number},
    )
