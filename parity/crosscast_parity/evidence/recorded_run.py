"""The records of a run, and their checks by the NumPy reference under any recipe.

The same run can be held against several recipes: the one it claims to follow, and others. A recipe
that passes every check explains the run; a field whose other values pass, too, was not exercised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from crosscast.plan import operations as ops
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import Recipe, SyntheticData
from crosscast_parity.checks.check import Check
from crosscast_parity.evidence.replay import Replayed
from crosscast_parity.levels.dtypes import check_dtypes
from crosscast_parity.levels.machine import check_machine
from crosscast_parity.levels.rows import check_counts
from crosscast_parity.recordings.observations import Observation
from crosscast_parity.recordings.trace import TraceRow

Part = Literal["counts", "machine", "factors", "applied", "update", "types", "toy"]


Judge = Callable[[Recipe], tuple[Check, ...]]
"""Compares one run with a recipe."""


def unchanged(recipe: Recipe) -> Recipe:
    """Return the recipe itself."""
    return recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """One run of one program.

    `recipe`: the recipe it claims to follow. `train_rows`: rows of its data; None if unknown.
    `weights`: its first weights. `compared`: whether its gradients are compared with those of
    another program. `short`: whether it is one of the short runs, whose types are checked, and in
    float32 its first gradients compared. `emulated`: whether its half precision was. `derive`:
    makes `recipe` from that of the comparison, and this run's from another one of the comparison.
    `toy`: judges what was left of the toy, which has no observation; None for runs of a model.
    """

    run: str
    recipe: Recipe
    rows: tuple[TraceRow, ...]
    observation: Observation | None = None
    train_rows: int | None = None
    weights: Literal["initial", "stress"] = "initial"
    compared: bool = True
    short: bool = True
    emulated: bool = False
    derive: Callable[[Recipe], Recipe] = field(default=unchanged, compare=False)
    toy: Judge | None = field(default=None, compare=False)


Judges = Mapping[Part, Judge]
JudgeFactory = Callable[[RecordedRun], Judges]


def judges_of(recorded_run: RecordedRun) -> Judges:
    """Return the judges of a run, the cheapest first."""
    judges: dict[Part, Judge] = {
        "counts": lambda recipe: counts(recipe, recorded_run),
        "machine": lambda recipe: check_machine(canonical_plan(recipe), recorded_run.rows),
    }
    if recorded_run.toy is not None:
        return {"machine": judges["machine"], "toy": recorded_run.toy}
    observation = recorded_run.observation
    if observation is not None and observation.windows:
        replayed = Replayed(recorded_run.recipe, observation)
        judges |= {
            "factors": replayed.factors,
            "applied": replayed.applied,
            "update": replayed.update,
        }
        if recorded_run.short:
            judges["types"] = lambda recipe: check_dtypes(
                recipe, observation, emulated=recorded_run.emulated
            )
    return judges


def counts(recipe: Recipe, recorded_run: RecordedRun) -> tuple[Check, ...]:
    """Hold micro-batches and rows of every window against a recipe."""
    rows = recorded_run.train_rows
    if isinstance(recipe.data, SyntheticData) and recipe.data != recorded_run.recipe.data:
        rows = recipe.data.train_rows
    return () if rows is None else check_counts(recipe, rows, recorded_run.rows)


def distinguishing_parts(recipe: Recipe, other: Recipe) -> tuple[Part, ...]:
    """Return the judges that can tell two recipes apart at all, the cheapest first."""
    parts: list[Part] = []
    if _counted(recipe) != _counted(other):
        parts.append("counts")
    ours, theirs = ({type(op): op for op in canonical_plan(r)} for r in (recipe, other))
    kinds = {kind for kind in ours | theirs if ours.get(kind) != theirs.get(kind)}
    parts += [part for part, seen in _SEEN.items() if kinds & seen]
    if recipe.precision != other.precision or recipe.accumulation.dtype != other.accumulation.dtype:
        parts.append("types")
    if kinds:
        parts.append("toy")
    return tuple(parts)


_SEEN: dict[Part, set[type[ops.Op]]] = {
    "machine": {ops.UpdateScale, ops.Schedule},
    "factors": {ops.Normalize, ops.Scale},
    "applied": {ops.Accumulate, ops.Unscale, ops.CheckFinite, ops.Clip},
    "update": {ops.Step, ops.Ema, ops.Schedule},
}


def _counted(recipe: Recipe) -> tuple[object, ...]:
    accumulation = recipe.accumulation
    rows = getattr(recipe.data, "train_rows", None)
    return recipe.batch, accumulation.steps, accumulation.tail, rows


@dataclass(frozen=True, slots=True, order=True)
class Gap:
    """How far a run is from a recipe: checks that fail, and by how many powers of ten in all.

    A check that counts windows adds one, and a power of ten for every ten windows.
    """

    failing: int
    excess: float

    @property
    def closed(self) -> bool:
        """Whether nothing is left to explain."""
        return not self.failing


def gap_of(checks: Iterable[Check]) -> Gap:
    """Measure the failing checks."""
    sizes = [1.0 + excess_of(check) for check in checks if check.result == "fail"]
    return Gap(len(sizes), sum(sizes))


def excess_of(check: Check) -> float:
    """Return by how many powers of ten a check is over its limit; at most 12."""
    value, limit = check.value, check.limit
    if value is None or math.isnan(value) or math.isinf(value):
        return 12.0
    return min(12.0, math.log10(max(1.0, value / limit if limit else value)))


def worst_of(checks: Iterable[Check]) -> Check | None:
    """Return the failing check that is furthest over its limit."""
    failing = [check for check in checks if check.result == "fail"]
    return max(failing, key=excess_of, default=None)
