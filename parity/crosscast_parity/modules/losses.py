"""Where the modules of two models are the same and the user's loss functions are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from crosscast.recipe.document import CustomLoss, Recipe
from crosscast_parity.modules.comparison import Comparison
from crosscast_parity.modules.differences import Difference
from crosscast_parity.weights.proof import OUTPUTS, output_distance
from crosscast_parity.weights.workers import Computed, Processes

LOSS = "loss function"
TAIL = "loss function of short micro-batches"
Arrays = Mapping[str, np.ndarray]


def losses_of(recipe: Recipe) -> Mapping[str, str]:
    """Return the user's loss functions by framework; nothing if the loss is one of ours."""
    return recipe.loss.function if isinstance(recipe.loss, CustomLoss) else {}


def parting_loss(
    comparison: Comparison, losses: Mapping[str, str], computed: Mapping[str, Computed]
) -> Difference | None:
    """Return that loss functions differ, whose modules all return the same; None if not so.

    Args:
        comparison: Of the modules; the outputs of the models are those of the loss functions.
        losses: The functions by framework.
        computed: The outputs of both.
    """
    names = comparison.first, comparison.other
    values = [computed[name].outputs for name in names]
    if comparison.outputs > OUTPUTS and comparison.first_output() is None:
        return _parting(names, losses, LOSS, f"{_means(names, values)}; all modules are the same")
    gradient = comparison.first_gradient()
    if gradient is None or comparison.gradient_after(gradient) is not None:
        return None
    last = max(c.pair.a.end for c in comparison.compared)
    if gradient.pair.a.end < last or comparison.outputs > OUTPUTS:
        return None
    words = (
        f"its value is the same, what it gives back to {gradient.pair.a.text} differs by"
        f" {gradient.gradients:.1e}"
    )
    return _parting(names, losses, LOSS, words)


def losses_by_rows(
    processes: Processes,
    recipe: Recipe,
    frameworks: Sequence[str],
    weights: Mapping[str, Arrays],
    differences: Mapping[str, Sequence[Difference]],
) -> dict[str, list[Difference]]:
    """Return by framework all differences, with those of losses of whole and short micro-batches.

    The last window of an epoch may be short, and a loss that divides by a number of its own then
    differs there alone.

    Args:
        processes: Of the models.
        recipe: With the loss functions.
        frameworks: The first one first.
        weights: The same for all, by framework and tensor.
        differences: Those so far; where another one than the loss is certain, they stay.
    """
    losses, whole = losses_of(recipe), recipe.batch.micro_batch_size
    counts = sorted({whole, max(1, whole - 1)})
    computed = {
        count: {
            name: processes.evaluate(name, weights[name], count, rows=count)[:1]
            for name in frameworks
        }
        for count in counts
    }
    first = frameworks[0]
    result = {}
    for name in frameworks[1:]:
        certain = [difference for difference in differences[name] if difference.certain]
        apart = [n for n in counts if output_distance(*_pair(computed[n], first, name)) > OUTPUTS]
        others = [
            difference
            for difference in certain
            if difference.what not in ("loss", "initial values")
        ]
        result[name] = list(differences[name])
        lost = any(difference.what == "loss" for difference in certain)
        if others or not apart or (whole in apart and lost):
            continue
        kind = LOSS if whole in apart else TAIL
        words = f"{_means((first, name), _pair(computed[apart[0]], first, name))}"
        words += f" with {apart[0]} rows"
        if kind == TAIL:
            words += f", the same with a micro-batch of {whole}"
        rest = [difference for difference in differences[name] if difference.what != "loss"]
        result[name] = [_parting((first, name), losses, kind, words), *rest]
    return result


def _pair(
    computed: Mapping[str, Sequence[np.ndarray]], first: str, other: str
) -> list[Sequence[np.ndarray]]:
    return [computed[first], computed[other]]


def _means(names: Sequence[str], values: Sequence[Sequence[np.ndarray]]) -> str:
    """Return the loss of both, the mean of what the functions return."""
    means = [float(np.mean(outputs[0], dtype=np.float64)) for outputs in values]
    return "; ".join(f"{name}: {mean:.9g}" for name, mean in zip(names, means, strict=True))


def _parting(names: Sequence[str], losses: Mapping[str, str], kind: str, words: str) -> Difference:
    places = [losses.get(name, "") for name in names]
    return Difference(what="loss", module=places[0], counterpart=places[1], kind=kind, words=words)
