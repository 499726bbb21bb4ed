"""The training state in a file of torch.save, as saved by PyTorch scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast.emit.frame import recipe_hash
from crosscast.state.reading import (
    GivenPosition,
    Reading,
    count,
    only_trained,
    position_of,
    report_moments,
)
from crosscast.state.training_state import Scale, TrainingState
from crosscast_torch.states import keys
from crosscast_torch.states.optimizer import read_optimizer
from crosscast_torch.states.parts import arrays_of, scale_of, split


class TorchStates:
    """How files of torch.save are read, see `crosscast.state.reading.SavedStates`."""

    folders = False

    def read(self, tree: Any, reading: Reading, position: GivenPosition) -> TrainingState:
        """Return the state in a file, to be continued with a recipe.

        Raises:
            DiagnosticError: CC960 for a file without weights or without an optimizer.
        """
        parts = split(tree, reading)
        weights = arrays_of(parts["weights"], "weights", reading)
        left = len(parts["weights"]) - len(weights) if isinstance(parts["weights"], dict) else 0
        reading.account.add("weights", len(weights), "carried", "from PyTorch's layout")
        if left > 0:
            same = "the same in every model of the kind"
            reading.account.add("constant buffers", left, "left out", same)
        moments, steps = read_optimizer(parts["optimizer"], weights, reading)
        report_moments(moments, reading)
        averages = arrays_of(parts["averages"], "averages", reading) if "averages" in parts else {}
        averages = only_trained(averages, moments, reading, weights)
        windows, updates = _position(parts, steps, position, reading)
        scale = _scale(parts, reading)
        digest = recipe_hash(reading.recipe)
        return TrainingState(digest, weights, moments, averages, windows, updates, scale)

    def meaning_of(self, key: Any) -> str:
        """Return the kind of part that a key is taken for; empty if it is ignored."""
        if key in ("windows", "updates"):
            return "position"
        if key in keys.WITHIN_WINDOW:
            return "the middle of a window, which begins again (CC968)"
        return next((part for part, names in keys.PARTS.items() if key in names), "")


STATES = TorchStates()


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
    ticks = _ticks(parts.get("schedule"), reading)
    by_attempt = reading.recipe.schedule.tick == "attempt"
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
    return position_of(windows, updates, reading)


def _ticks(value: Any, reading: Reading) -> int | None:
    """Return the position of a scheduler."""
    if not isinstance(value, dict):
        return None
    epoch = count(value.get("last_epoch"))
    how = "not its class: the recipe's formula at this position"
    reading.account.add("schedule", 1, "derived", how)
    return epoch
