"""The training state in a file of torch.save, as saved by PyTorch scripts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crosscast.emit.frame import recipe_hash
from crosscast.messages.diagnostics import Collector, Diagnostic
from crosscast.recipe.document import Recipe
from crosscast.state.torch_optimizer import read_optimizer
from crosscast.state.torch_parts import Reading, arrays_of, count, scale_of, split
from crosscast.state.training_state import Account, Scale, TrainingState
from crosscast.weights.document import WeightsMap

_HINT = "--windows N: attempted optimizer steps; --updates N: steps that were not skipped"


@dataclass(frozen=True, slots=True)
class GivenPosition:
    """The user's position of the run; None if not given."""

    windows: int | None = None
    updates: int | None = None


def read_saved(
    path: str,
    tree: Any,
    recipe: Recipe,
    position: GivenPosition,
    account: Account,
    collect: Collector,
    known: WeightsMap | None = None,
) -> TrainingState:
    """Return the state in a file of torch.save, to be continued with a recipe.

    Args:
        path: The file, for messages.
        tree: Its contents, from `saved_file.saved_file`.
        recipe: The recipe that continues the run.
        position: The position from the user.
        account: Receives a row for every part.
        collect: Receives the problems; the state is invalid if one of them is an error.
        known: The map of the weights of a custom model, if there is one.

    Raises:
        DiagnosticError: CC960 for a file without weights or without an optimizer.
    """
    reading = Reading(path, recipe, account, collect, known)
    parts = split(tree, reading)
    weights = arrays_of(parts["weights"], "weights", reading)
    left = len(parts["weights"]) - len(weights) if isinstance(parts["weights"], dict) else 0
    account.add("weights", len(weights), "carried", "from PyTorch's layout")
    if left > 0:
        account.add("constant buffers", left, "left out", "the same in every model of the kind")
    moments, steps = read_optimizer(parts["optimizer"], weights, reading)
    for slot, arrays in moments.items():
        account.add(slot, len(arrays), "carried", "independent of epsilon and bias correction")
    averages = arrays_of(parts["averages"], "averages", reading) if "averages" in parts else {}
    if averages:
        trained = {name for arrays in moments.values() for name in arrays} or set(weights)
        buffers = len(averages.keys() - trained)
        averages = {name: a for name, a in averages.items() if name in trained}
        account.add("averages", len(averages), "carried", "float32")
        if buffers:
            account.add("averages of buffers", buffers, "left out", "only weights are averaged")
    windows, updates = _position(parts, steps, position, reading)
    scale = _scale(parts, reading)
    return TrainingState(recipe_hash(recipe), weights, moments, averages, windows, updates, scale)


def _scale(parts: Mapping[str, Any], reading: Reading) -> Scale | None:
    scale = scale_of(parts["loss scale"], reading) if "loss scale" in parts else None
    if scale is None:
        return None
    reading.account.add("loss scale", 1, "carried", f"{scale[0]:g}, {scale[1]} clean steps")
    reading.account.add("hopeless windows", 1, "reset", "counted from 0 by the emitted script")
    return Scale(scale[0], scale[1], 0, 0)


def _position(
    parts: Mapping[str, Any], steps: int | None, stated: GivenPosition, reading: Reading
) -> tuple[int, int]:
    """Return windows and updates; values from several sources must agree."""
    recipe = reading.recipe
    ticks = _ticks(parts.get("schedule"), reading)
    by_attempt = recipe.schedule.tick == "attempt"
    windows: dict[str, int | None] = {
        "--windows": stated.windows,
        "'windows' in the file": count(parts.get("windows")),
        "the scheduler": ticks if by_attempt else None,
    }
    updates: dict[str, int | None] = {
        "--updates": stated.updates,
        "'updates' in the file": count(parts.get("updates")),
        "the optimizer": steps,
        "the scheduler": None if by_attempt else ticks,
    }
    if not recipe.scaling_on:  # nothing is skipped
        both = [(w, n) for known in (updates, windows) for w, n in known.items() if n is not None]
        windows = updates = dict(both)
    position = _agreed("windows", windows, reading), _agreed("updates", updates, reading)
    if position[1] > position[0] > 0:
        reading.problem("CC967", [f"{position[1]} updates in {position[0]} windows"])
    return position


def _ticks(value: Any, reading: Reading) -> int | None:
    """Return the position of a scheduler."""
    if not isinstance(value, dict):
        return None
    epoch = count(value.get("last_epoch"))
    how = "not its class: the recipe's formula at this position"
    reading.account.add("schedule", 1, "derived", how)
    return epoch


def _agreed(quantity: str, stated: Mapping[str, int | None], reading: Reading) -> int:
    known = {where: number for where, number in stated.items() if number is not None}
    if len(set(known.values())) == 1:
        value = next(iter(known.values()))
        how = f"{value}, from {' and '.join(known)}"
        reading.account.add(quantity, 1, "carried" if len(known) > 1 else "derived", how)
        return value
    if known:
        values = "; ".join(f"{where}: {number}" for where, number in known.items())
        message = f"{reading.path}: {quantity} do not agree: {values}"
    else:
        message = f"{reading.path}: the number of {quantity} is not in the file"
    reading.collect.add(Diagnostic(code="CC967", message=message, hint=_HINT))
    return 0
