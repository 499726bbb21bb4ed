"""Evidence of programs that do exactly what a recipe means: the reference interpreter, observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Step
from crosscast.recipe.document import DynamicLossScaling, Recipe
from crosscast.reference.optimizer_formulas import settings_of
from crosscast_parity.inside.inject import Fault
from crosscast_parity.reading.evidence import Evidence, ProgramRun
from crosscast_parity.recordings.observations import ObservedWindow
from crosscast_parity.recordings.roles import roles_of
from crosscast_parity.recordings.trace import TraceRow
from crosscast_parity.side_by_side.recording import Clip, RecordedAttempt, Recording
from observed_runs import Script

CLASSES = {"adamw": "AdamW", "adam": "Adam", "sgd": "SGD", "lamb": "Lamb", "lion": "Lion"}
OVERFLOW = 2
KEPT = 4


def evidence_of(recipe: Recipe, updates: int = 12, *, silent: bool = False) -> Evidence:
    """What two runs of a program that follows a recipe leave, of which one overflows.

    With `silent` its optimizer is of no known class, and it tells nothing of itself.
    """
    plans: dict[str, Sequence[Fault]] = {"its run": ()}
    if recipe.scaling_on:
        plans["its run with an overflow"] = (Fault(OVERFLOW, 0, "inf"),)
    return Evidence(
        program_runs=tuple(
            _made(recipe, name, updates, faults, silent) for name, faults in plans.items()
        )
    )


def _made(
    recipe: Recipe, name: str, updates: int, faults: Sequence[Fault], silent: bool
) -> ProgramRun:
    rows, observation = Script(recipe).train(updates, faults, range(updates))
    assert observation is not None
    windows = observation.windows
    kept = () if faults else windows[:KEPT]
    groups = _groups(recipe, windows[0])
    attempts = [
        _attempt(recipe, row, window, groups, silent)
        for row, window in zip(rows, windows, strict=True)
    ]
    facts = {} if silent else _facts(recipe, rows, groups)
    recording = Recording(
        framework="torch",
        version="2",
        attempts=tuple(attempts),
        whole=True,
        facts=facts | {"parameters": _parameters(groups)},
    )
    return ProgramRun(name=name, recording=recording, windows=kept)


Groups = Mapping[tuple[float, float], list[str]]
"""Names of tensors by their decay and the factor of their rate."""


def _groups(recipe: Recipe, window: ObservedWindow) -> Groups:
    step = canonical_plan(recipe).get(Step)
    found: dict[tuple[float, float], list[str]] = {}
    for name, roles in roles_of(window.before).items():
        found.setdefault(settings_of(step, name, roles), []).append(name)
    return found


def _parameters(groups: Groups) -> list[dict[str, Any]]:
    return [
        {"name": name, "roles": sorted(roles_of([name])[name]), "group": number}
        for number, names in enumerate(groups.values())
        for name in names
    ]


def _attempt(
    recipe: Recipe, row: TraceRow, window: ObservedWindow, groups: Groups, silent: bool
) -> RecordedAttempt:
    own = recipe.optimizer.model_dump()
    names = ("momentum", "nesterov", "betas", "eps", "bias_correction")
    shared = {} if silent else {name: own[name] for name in names if name in own}
    settings = [
        {"tensors": len(names), "lr": row.lr * factor, "weight_decay": decay, **shared}
        for (decay, factor), names in groups.items()
    ]
    clipping = recipe.clipping.model_dump()
    limit = clipping.get("max_norm", clipping.get("max_value"))
    clips = [Clip(kind=recipe.clipping.kind, limit=limit, size=1.0)] if limit else []
    micro = [
        {"rows": rows, "losses": [_loss(recipe, row, rows, len(window.micro_rows))]}
        for rows in window.micro_rows
    ]
    return RecordedAttempt(
        optimizer=0,
        cls="Own" if silent else CLASSES[recipe.optimizer.name],
        skipped=row.skipped,
        backwards=row.n_micro,
        scale=row.scale if recipe.scaling_on else None,
        settings=tuple(settings),
        clips=() if silent else tuple(clips),
        gradients=(),
        changes=(),
        types=("float32",),
        micro=tuple(micro),
    )


def _loss(recipe: Recipe, row: TraceRow, rows: int, count: int) -> dict[str, Any]:
    """A mean whose factor gives every row the weight that the recipe gives it."""
    sample = recipe.accumulation.normalize_by == "sample"
    factor = row.scale * (rows / row.rows if sample else 1.0 / count)
    return {
        "kind": "cross_entropy",
        "mean": True,
        "labels": rows,
        "elements": 1.0,
        "smoothing": 0.0,
        "weights": [],
        "factor": None if row.skipped else factor,
        "used": True,
    }


def _facts(recipe: Recipe, rows: Sequence[TraceRow], groups: Groups) -> dict[str, Any]:
    scaling = recipe.loss_scaling
    found: dict[str, Any] = {"seed": recipe.seed, "weights": ["float32"]}
    if recipe.half:
        found["autocasts"] = [recipe.half]
    if isinstance(scaling, DynamicLossScaling):
        found["scaler"] = {
            "growth_factor": scaling.growth_factor,
            "backoff_factor": scaling.backoff_factor,
            "growth_interval": scaling.growth_interval,
        }
    return found
