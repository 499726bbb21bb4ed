"""The training state in a file of Flax or a folder of Orbax, as saved by JAX programs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from crosscast.emit.frame import recipe_hash
from crosscast.messages.diagnostics import Severity, failure
from crosscast.state.reading import (
    GivenPosition,
    Reading,
    begin_window_again,
    count,
    number,
    only_trained,
    parts_of,
    position_of,
    report_moments,
)
from crosscast.state.training_state import Scale, TrainingState
from crosscast_jax.states import keys
from crosscast_jax.states.optimizer import OptaxState, read_optimizer
from crosscast_jax.states.trees import arrays_of, weights_of, without_variables

_SCALES = {"scale": "fin_steps", "loss_scale": "counter"}
"""Scale to clean steps, in the states of Flax and of jmp."""


class JaxStates:
    """How states of Flax and Orbax are read, see `crosscast.state.reading.SavedStates`."""

    folders = True

    def read(self, tree: Any, reading: Reading, position: GivenPosition) -> TrainingState:
        """Return the state in a file or folder, to be continued with a recipe.

        Raises:
            DiagnosticError: CC960 for one without weights or without an optimizer.
        """
        parts = _split(tree, reading)
        weights = weights_of(parts, reading)
        reading.account.add("weights", len(weights), "carried", "by their paths in the model")
        moments, optax = read_optimizer(parts["optimizer"], weights, reading)
        report_moments(moments, reading)
        averages = without_variables(parts.get("averages", {}))
        averages = arrays_of(averages, "averages", reading)
        averages = only_trained(averages, moments, reading, weights)
        if optax.within:
            moving = [n for n in weights if n.rpartition(".")[2] in keys.STATISTICS]
            begin_window_again(["mini_step"], moving, reading)
        windows, updates = _position(parts, optax, position, reading)
        scale = _scale(parts["loss scale"], reading) if "loss scale" in parts else None
        digest = recipe_hash(reading.recipe)
        return TrainingState(digest, weights, moments, averages, windows, updates, scale)

    def meaning_of(self, key: Any) -> str:
        """Return the kind of part that a key is taken for; empty if it is ignored."""
        if key in keys.WRAPPERS:
            return "a state, if it is the only key"
        return next((part for part, names in keys.PARTS.items() if key in names), "")


STATES = JaxStates()


def _split(tree: Any, reading: Reading) -> dict[str, Any]:
    """Return the parts by kind; other entries are reported."""
    while isinstance(tree, dict) and len(tree) == 1 and next(iter(tree)) in keys.WRAPPERS:
        tree = next(iter(tree.values()))
    if not isinstance(tree, dict):
        raise failure("CC960", f"{reading.path}: not a dictionary of states")
    parts = parts_of(tree, keys.PARTS, reading)
    known = {name for names in keys.PARTS.values() for name in names}
    for name in map(str, tree):
        if name not in known:
            reading.problem("CC965", [f"{name!r} is ignored"], Severity.WARNING)
            reading.account.add(name, 1, "left out", "not part of emitted scripts")
    return parts


def _position(
    parts: Mapping[str, Any], optax: OptaxState, stated: GivenPosition, reading: Reading
) -> tuple[int, int]:
    """Return windows and updates; values from several sources must agree."""
    known = [each for each in optax.updates if each is not None]
    made = known[0] if len(known) == 1 else None
    ended = next(iter(optax.windows), None)
    windows: dict[str, int | None] = {"--windows": stated.windows, "optax.MultiSteps": ended}
    updates: dict[str, int | None] = {"--updates": stated.updates, "the optimizer": made}
    if optax.skipped is not None and made is not None:
        windows["optax.apply_if_finite"] = made + optax.skipped
    step = count(parts.get("position"))
    if step is not None and not any(n is not None for n in windows.values()):
        if reading.recipe.scaling_on or made is None or step == made:
            windows["'step' in the file"] = step
        else:
            message = f"'step' is {step} after {made} updates: it counts something else"
            reading.problem("CC965", [message], Severity.WARNING)
    return position_of(windows, updates, reading)


def _scale(part: Any, reading: Reading) -> Scale | None:
    """Return the loss scale of Flax or of jmp; None for one that is off."""
    state = without_variables(part)
    if state in (None, {}):
        return None
    name = next((n for n in _SCALES if isinstance(state, dict) and n in state), "")
    scale = number(state[name]) if name else None
    good = count(state.get(_SCALES[name], 0)) if name else None
    if scale is None or good is None or not (math.isfinite(scale) and 2.0**-149 <= scale < 2**128):
        reading.problem("CC961", [f"loss scale {scale} after {good} clean steps"])
        return None
    reading.account.add("loss scale", 1, "carried", f"{scale:g}, {good} clean steps")
    reading.account.add("hopeless windows", 1, "reset", "counted from 0 by the emitted script")
    return Scale(scale, good, 0, 0)
