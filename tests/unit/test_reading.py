"""Readings against runs of the reference interpreter: planted misreadings are found, by value."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from crosscast.recipe.document import Recipe
from crosscast_parity.reading.changes import alike, put, value_of
from crosscast_parity.reading.evidence import Evidence, ProgramRun
from crosscast_parity.reading.verdict import Reading, hold
from crosscast_parity.side_by_side.recording import Recording
from parity_recipes import plain
from reading_runs import evidence_of
from tiers import cases

RIGHT = plain(
    loss_scaling__growth_interval=4,
    schedule__warmup_steps=3,
    schedule__total_steps=40,
    optimizer__learning_rate=1e-3,
)
EXACT = plain(
    precision={"mode": "none"},
    loss_scaling={"mode": "none"},
    optimizer={"name": "sgd", "learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.01},
    schedule={"name": "cosine", "total_steps": 30},
)
TOLD: dict[str, Any] = {
    "seed": 8,
    "batch.micro_batch_size": 16,
    "precision.compute_dtype": "bfloat16",
    "loss_scaling.init_scale": 1024.0,
    "loss_scaling.growth_interval": 2000,
    "loss_scaling.growth_factor": 4.0,
    "loss_scaling.backoff_factor": 0.25,
    "loss_scaling.hysteresis": 2,
    "loss_scaling.mode": "static",
    "accumulation.steps": 2,
    "clipping.kind": "none",
    "clipping.max_norm": 3.0,
    "optimizer.name": "lamb",
    "optimizer.learning_rate": 1.1e-3,
    "optimizer.weight_decay": 0.1,
    "optimizer.no_decay": (),
    "optimizer.groups": ({"parameters": ("*pooler*",), "rate_factor": 3.0},),
    "optimizer.betas": (0.8, 0.999),
    "optimizer.eps": 1e-6,
    "optimizer.bias_correction": False,
    "schedule.name": "cosine",
    "schedule.total_steps": 80,
    "schedule.warmup_steps": 5,
    "schedule.warmup_start_lr": 1e-4,
    "schedule.end_lr": 2e-4,
    "schedule.tick": "attempt",
    "loss.label_smoothing": 0.1,
}
"""Misreadings of RIGHT."""
SILENT: dict[str, Any] = {
    name: TOLD[name]
    for name in (
        *("loss_scaling.init_scale", "loss_scaling.backoff_factor", "accumulation.steps"),
        *("clipping.max_norm", "clipping.kind", "optimizer.learning_rate", "optimizer.eps"),
        *("optimizer.bias_correction", "optimizer.no_decay", "schedule.total_steps"),
    )
} | {"optimizer.name": "adam"}
"""Those that the levels alone find, of an optimizer of which nothing is known."""
OF_EXACT: dict[str, Any] = {
    "optimizer.momentum": 0.8,
    "optimizer.nesterov": True,
    "optimizer.weight_decay": 0.0,
    "optimizer.name": "adamw",
    "schedule.name": "linear",
    "schedule.total_steps": 31,
    "loss.kind": "mse",
    "accumulation.steps": 8,
}


@cache
def runs(name: str) -> Evidence:
    given = {"right": RIGHT, "silent": RIGHT, "exact": EXACT}[name]
    return evidence_of(given, silent=name == "silent")


def misread(recipe: Recipe, path: str, value: Any) -> Recipe:
    values = {path: value}
    if path == "loss.kind":
        values = {"loss": {"kind": value}}
    found = put(recipe, values)
    assert found is not None
    assert found != recipe
    return found


def statuses(reading: Reading, status: Any) -> dict[str, Any]:
    return {field.path: field.run_value for field in reading.of(status)}


@pytest.mark.parametrize("name", ["right", "silent", "exact"])
def test_nothing_of_a_right_recipe_is_contradicted(name: str) -> None:
    recipe = EXACT if name == "exact" else RIGHT
    reading = hold(recipe, runs(name))
    assert not reading.of("contradicted")
    assert not reading.unexplained
    assert reading.corrected == recipe
    proven = statuses(reading, "proven")
    levels = {"optimizer.learning_rate", "optimizer.name", "accumulation.steps", "schedule.name"}
    assert proven.keys() >= levels
    if name != "exact":
        of_scaling = {"init_scale", "backoff_factor", "growth_interval", "growth_factor"}
        assert proven.keys() >= {f"loss_scaling.{field}" for field in of_scaling}
        assert "schedule.tick" in proven
    assert "loss_scaling.max_scale" not in proven


@pytest.mark.parametrize(
    ("name", "path"),
    cases(
        [
            *(("right", path) for path in TOLD),
            *(("silent", path) for path in SILENT),
            *(("exact", path) for path in OF_EXACT),
        ],
        quick=[
            ("right", "schedule.total_steps"),
            ("right", "optimizer.no_decay"),
            ("silent", "clipping.max_norm"),
            ("exact", "optimizer.momentum"),
        ],
        reason="misreadings of other fields",
    ),
)
def test_a_misreading_is_contradicted_by_the_right_value(name: str, path: str) -> None:
    planted, right = {
        "right": (TOLD, RIGHT),
        "silent": (SILENT, RIGHT),
        "exact": (OF_EXACT, EXACT),
    }[name]
    reading = hold(misread(right, path, planted[path]), runs(name))
    found = statuses(reading, "contradicted")
    wanted = value_of(right, path)
    assert path in found
    assert alike(_lists(found[path]), _lists(wanted)) or found[path] == wanted
    assert not reading.unexplained
    held = hold(reading.corrected, runs(name))
    assert not held.of("contradicted")


def _lists(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def test_two_misreadings_are_found_together() -> None:
    planted = {"optimizer.betas": (0.9, 0.9), "schedule.warmup_steps": 9, "clipping.max_norm": 5.0}
    wrong = put(RIGHT, planted)
    assert wrong is not None
    found = statuses(hold(wrong, runs("right")), "contradicted")
    assert found.keys() == planted.keys()
    assert found["schedule.warmup_steps"] == 3


def test_a_placeholder_costs_nothing_to_change() -> None:
    wrong = put(RIGHT, {"schedule.total_steps": 1000, "schedule.end_lr": 1e-5})
    assert wrong is not None
    reading = hold(wrong, runs("right"), free={"schedule.total_steps", "schedule.end_lr"})
    # The run ends in the middle of the fall: only both together are known.
    assert "schedule.total_steps" in statuses(reading, "contradicted")
    assert "schedule.end_lr" not in statuses(reading, "proven")


def test_a_scale_that_no_scaler_shows_is_left_open() -> None:
    claimed = put(EXACT, {"precision.mode": "mixed", "precision.compute_dtype": "float16"})
    assert claimed is not None
    claimed = put(claimed, {"loss_scaling.mode": "dynamic"})
    assert claimed is not None
    reading = hold(claimed, runs("exact"))
    assert not reading.of("contradicted")
    assert {"loss_scaling.mode", "precision.mode"} <= statuses(reading, "not exercised").keys()
    assert "no scaler" in reading.notes[0]
    (made,) = runs("exact").program_runs
    facts = {**made.recording.facts, "unscaled": "its scaler scales something else"}
    other = replace(made, recording=replace(made.recording, facts=facts))
    assert (
        hold(claimed, Evidence(program_runs=(other,))).notes[0]
        == "its scaler scales something else"
    )


def test_what_no_value_explains_is_told() -> None:
    (made,) = runs("exact").program_runs
    windows = [
        window.__class__(**{**_fields(window), "after": window.before}) for window in made.windows
    ]
    broken = ProgramRun(name=made.name, recording=made.recording, windows=tuple(windows[:3]))
    reading = hold(EXACT, Evidence(program_runs=(broken,)))
    assert reading.unexplained[0].startswith("L1b update")
    assert "optimizer.momentum" in statuses(reading, "proven")  # the optimizer has it
    assert "accumulation.dtype" not in statuses(reading, "proven")


def _fields(window: Any) -> dict[str, Any]:
    return {name: getattr(window, name) for name in window.__dataclass_fields__}


def test_several_optimizers_are_no_recipe() -> None:
    (made,) = runs("exact").program_runs
    first = made.recording.attempts[0]
    other = first.__class__(**{**_fields(first), "optimizer": 1})
    recording = Recording(framework="torch", attempts=(first, other), whole=True)
    reading = hold(EXACT, Evidence(program_runs=(ProgramRun(name="its run", recording=recording),)))
    assert "2 optimizers" in reading.notes[0]
    assert not reading.of("contradicted")


@pytest.mark.parametrize("unseen", [False, True])
def test_clips_that_could_not_be_seen_are_left_open(unseen: bool) -> None:
    claimed = put(EXACT, {"clipping.kind": "none"})
    assert claimed is not None
    (made,) = runs("exact").program_runs
    attempts = tuple(replace(attempt, clips=()) for attempt in made.recording.attempts)
    facts = {**made.recording.facts, **({"clips_unseen": True} if unseen else {})}
    recording = replace(made.recording, attempts=attempts, facts=facts)
    program_run = ProgramRun(name=made.name, recording=recording)
    reading = hold(claimed, Evidence(program_runs=(program_run,)))
    assert ("clipping.kind" in statuses(reading, "proven")) is not unseen
    assert "clipping.kind" not in statuses(reading, "contradicted")
