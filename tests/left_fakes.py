"""What a correct run leaves, for tests that change it before it is written."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import Recipe
from crosscast_parity.levels.files import check_checkpoint, check_files
from crosscast_parity.recordings.observations import ObservedWindow
from replay_fakes import Arrays, Recorder, micro_batches, stress

WINDOWS = 4
OVERFLOW = 2


@dataclass
class Left:
    """What a correct run leaves; tests change it before it is written."""

    recipe: Recipe
    seen: tuple[ObservedWindow, ...]
    weights: Arrays
    averages: Arrays
    moments: Arrays
    counters: dict[str, Any]
    checkpoint: Arrays = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        save(folder / "model.safetensors", self.weights)
        if self.averages:
            save(folder / "ema.safetensors", self.averages)
        parts = {
            "model": self.checkpoint or self.weights,
            "optimizer": self.moments,
            "ema": self.averages,
        }
        arrays = {f"{part}/{n}": a for part, named in parts.items() for n, a in named.items()}
        save(folder / "checkpoint.safetensors", arrays, counters=json.dumps(self.counters))

    def failed(self, folder: Path) -> dict[str, str]:
        self.write(folder)
        rows = [window.row for window in self.seen]
        plan = canonical_plan(self.recipe)
        checks = (
            *check_files(folder, rows, self.seen),
            *check_checkpoint(folder, plan, rows, self.seen),
        )
        assert {check.level for check in checks} == {"L1d"}
        return {check.name: check.wording for check in checks if check.result == "fail"}


def save(path: Path, arrays: Arrays, **metadata: str) -> None:
    save_file({n: np.ascontiguousarray(a) for n, a in arrays.items()}, path, metadata)


def left(**changes: str) -> Left:
    """Return what a run of a recipe leaves; what tests change of it is theirs alone."""
    found = _trained(tuple(changes.items()))
    return replace(
        found,
        weights=dict(found.weights),
        averages=dict(found.averages),
        moments=dict(found.moments),
        counters=dict(found.counters),
    )


@cache
def _trained(changed: tuple[tuple[str, str], ...]) -> Left:
    changes = dict(changed)
    recipe = stress(**({"ema": "{decay: 0.9}"} | changes))
    recorder = Recorder(canonical_plan(recipe))
    seen = []
    for number in range(WINDOWS):
        work = micro_batches(0, number, (4, 4, 4))
        if number == OVERFLOW and recipe.scaling_on:
            name = next(iter(work[0].gradients))
            bad = {**work[0].gradients, name: work[0].gradients[name] * np.float32(np.inf)}
            work[0] = replace(work[0], gradients=bad)
        seen.append(recorder.window(number, work))
    scale = recorder.scale
    counters: dict[str, Any] = {"windows": WINDOWS, "updates": recorder.updates, "rows": 99}
    if recipe.scaling_on:
        counters |= {"scale": scale.scale, "good": scale.good, "bad": scale.bad, "stuck": 0}
    return Left(
        recipe,
        tuple(seen),
        dict(recorder.parameters),
        dict(recorder.average) if recipe.ema.decay else {},
        {f"{slot}/{n}": a for slot, some in recorder.moments.items() for n, a in some.items()},
        counters,
    )
