"""States of optax: moments by weight, counters, and what wrappers keep."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from crosscast.emit.lowering import slot_names
from crosscast.plan.canonical import canonical_plan
from crosscast.state.problems import listed
from crosscast.state.reading import (
    Arrays,
    Moments,
    Reading,
    count,
    number,
    other_formula,
    report_rounded,
    widened,
)
from crosscast.state.saved_file import SavedTensor
from crosscast.targets.parameter_words import optimizer_words
from crosscast_jax.states import keys
from crosscast_jax.states.trees import Path, branches, leaves, without_variables

_FREE = ("learning_rate", "weight_decay")
"""Hyperparameters whose value changes, or is that of some weights."""


@dataclass(slots=True)
class OptaxState:
    """What transformations keep, whatever wraps them."""

    moments: dict[str, dict[Path, SavedTensor]] = field(default_factory=dict)
    """Tensors by field of optax, then by path of the weight."""
    twice: set[str] = field(default_factory=set)
    """Fields in which a weight has several tensors."""
    others: list[Path] = field(default_factory=list)
    """Places of tensors that are none of these."""
    updates: set[int | None] = field(default_factory=set)
    """Counts of updates."""
    windows: set[int | None] = field(default_factory=set)
    """Counts of windows that optax.MultiSteps has ended."""
    within: int = 0
    """Micro-batches of a window that has not ended."""
    skipped: int | None = None
    """Windows that optax.apply_if_finite has left out; None without it."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Hyperparameters of optax.inject_hyperparams."""

    def collect(self, tree: Any, path: Path = ()) -> None:
        """Add what is in a part of a state."""
        named = dict(branches(tree))
        if "mini_step" in named:
            self.within = count(named.pop("mini_step")) or 0
            self.windows.add(count(named.pop("gradient_step", None)))
            named = {name: v for name, v in named.items() if name not in keys.WITHIN_WINDOW}
        if "total_notfinite" in named:
            self.skipped = count(named.pop("total_notfinite"))
            named = {name: v for name, v in named.items() if "finite" not in name}
        if "hyperparams" in named:
            self.settings |= dict(branches(named.pop("hyperparams")))
        for name, value in named.items():
            if name in keys.SLOTS:
                self._add(name, value)
            elif name == "count":
                self.updates.add(count(value))
            elif isinstance(value, dict | list):
                self.collect(value, (*path, name))
            elif isinstance(value, SavedTensor):
                self.others.append((*path, name))

    def _add(self, name: str, tree: Any) -> None:
        moments = self.moments.setdefault(name, {})
        for path, leaf in leaves(tree):
            if not isinstance(leaf, SavedTensor):
                self.others.append((name, *path))
            elif path in moments:
                self.twice.add(name)
            else:
                moments[path] = leaf


def read_optimizer(part: Any, weights: Arrays, reading: Reading) -> tuple[Moments, OptaxState]:
    """Return the moments by slot and name, and all else that optax keeps."""
    state = OptaxState()
    tree = without_variables(part)
    if isinstance(tree, dict) and "opt_state" in tree:  # nnx.Optimizer, which counts its calls
        tree = tree["opt_state"]
    state.collect(tree)
    reading.problem("CC966", other_formula(reading.recipe, "optax"))
    reading.problem("CC966", _settings(state.settings, reading))
    twice = (f"several tensors of {name!r} for one weight" for name in sorted(state.twice))
    reading.problem("CC961", twice)
    if len(state.updates) > 1:
        reading.problem("CC967", ["its transformations have counted different numbers of updates"])
    if len(state.windows) > 1:
        reading.problem("CC967", ["its MultiSteps have ended different numbers of windows"])
    unknown = {_field(path, weights) for path in state.others}
    known = slot_names(canonical_plan(reading.recipe))
    moments: Moments = {}
    for name, tensors in state.moments.items():
        slot, named = keys.SLOTS[name], {".".join(path): t for path, t in tensors.items()}
        if slot not in known:
            unknown |= {name} if named else set()
            continue
        elsewhere = named.keys() - weights.keys()
        if elsewhere:
            reading.problem("CC961", [f"{name} of {listed(elsewhere)}, which are no weights"])
        report_rounded(named, f"moments {name}", reading)
        moments[slot] = {weight: widened(tensor) for weight, tensor in named.items()}
    reading.problem("CC966", (f"the recipe has no moment {name!r}" for name in sorted(unknown)))
    return {slot: arrays for slot, arrays in moments.items() if arrays}, state


def _field(path: Path, weights: Arrays) -> str:
    """Return the name of optax in a path that ends with that of a weight."""
    for length in range(1, len(path)):
        if ".".join(path[length:]) in weights:
            return path[length - 1]
    return ".".join(path)


def _settings(settings: Mapping[str, Any], reading: Reading) -> Iterator[str]:
    """Yield hyperparameters that differ from the recipe's."""
    words = optimizer_words("optax")
    for name, value in settings.items():
        place = words.get(name, "").removeprefix("optimizer.")
        stored = number(value)
        if name in _FREE or not place or stored is None:
            continue
        field_name, _, index = place.partition(".")
        wanted = getattr(reading.recipe.optimizer, field_name, None)
        if index and wanted is not None:
            wanted = wanted[int(index)]
        if wanted is not None and not math.isclose(stored, wanted, rel_tol=1e-6):
            yield f"{name} is {stored:g}, in the recipe {wanted}"
