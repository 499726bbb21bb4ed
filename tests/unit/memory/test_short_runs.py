"""Memory of custom models from short runs: how many are made, what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscast.memory.measured import MARGIN, estimate_of_runs
from crosscast.memory.records import MeasuredModel
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import find_target
from crosscast_parity.memory import short_runs
from crosscast_parity.memory.processes import Measured
from recipe_texts import recipe_of

KIB = 1024
SIZES = {"parameters": 4 * KIB, "trained": KIB, "optimizer": 8 * KIB, "ema": 0}
"""Of a model with 1024 weights; a copy of its gradients takes 4 KiB."""
PADDLE = find_target("paddle")
STEP, BACKWARD = 30 * KIB, 20 * KIB
Peak = Callable[[int], int]


def recipe(rows: int = 1024, **more: str) -> Recipe:
    fields = {
        "model": "{kind: custom, factory: {paddle: 'net:build'}}",
        "data": "{source: npz, train: train.npz, eval: eval.npz}",
        "optimizer": "{name: adamw, learning_rate: 1e-3, no_decay: []}",
        "batch": f"{{micro_batch_size: {rows}, global_batch_size: {rows}}}",
        "accumulation": "{steps: 1}",
    }
    return recipe_of(**fields | more)


def measured(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    peak: Peak,
    of: Recipe | None = None,
    **more: bool,
) -> MeasuredModel:
    np.savez(folder / "train.npz", x=np.ones((10, 8), np.float32), labels=np.zeros(10, np.int64))

    def run(shaped: Recipe, target: str, python: str, **options: Any) -> Measured:
        assert (target, python, shaped.accumulation.steps) == ("paddle", "python3", 2)
        assert shaped.processes == 1
        assert options["rows"]["x"].shape == (10, 8)
        rows = shaped.batch.micro_batch_size
        return Measured(peak(rows), (), "3", SIZES, **more)

    monkeypatch.setattr(short_runs, "measure", run)
    used = of or recipe()
    return short_runs.measure_model(used, "paddle", "python3", folder=folder, timeout=9.0)


def test_three_runs_on_a_line_are_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = measured(monkeypatch, tmp_path, lambda rows: BACKWARD + rows * KIB)
    assert [rows for rows, _ in found.peaks] == [2, 4, 8]
    assert found.peak_at(100) == BACKWARD + 100 * KIB
    assert (found.trained, found.held_row, found.widened) == (KIB, 0, False)


def test_the_update_does_not_hide_the_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = measured(monkeypatch, tmp_path, lambda rows: max(STEP, BACKWARD + rows * KIB))
    assert [rows for rows, _ in found.peaks] == [2, 4, 8, 16, 32, 64]
    assert found.peak_at(1000) == BACKWARD + 1000 * KIB


def test_a_whole_window_needs_no_more_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = measured(monkeypatch, tmp_path, lambda rows: STEP, recipe(rows=12))
    assert [rows for rows, _ in found.peaks] == [2, 4, 8, 16]
    assert found.peak_at(12) == STEP


@pytest.mark.parametrize("peak", [lambda rows: STEP, lambda rows: rows**2 * KIB])
def test_what_never_becomes_a_line_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, peak: Peak
) -> None:
    with pytest.raises(DiagnosticError, match="for 256 rows") as caught:
        measured(monkeypatch, tmp_path, peak)
    assert caught.value.diagnostics[0].code == "CC452"


def test_several_processes_are_not_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parallel = recipe(
        batch="{micro_batch_size: 8, global_batch_size: 16}",
        distributed="{strategy: data_parallel, processes_per_node: 2}",
    )
    with pytest.raises(DiagnosticError, match="one process") as caught:
        measured(monkeypatch, tmp_path, lambda rows: rows * KIB, parallel)
    assert caught.value.diagnostics[0].code == "CC451"


def test_rows_of_the_window_are_counted_where_they_are_held(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = measured(monkeypatch, tmp_path, lambda rows: BACKWARD + rows * KIB, holds_window=True)
    assert found.held_row == 8 * 4 + 8
    of = recipe(rows=64)
    sizes = {c.name: c.bytes for c in estimate_of_runs(of, PADDLE, "cuda", found).components}
    assert sizes["batch"] == 64 * 40


@pytest.mark.parametrize("length", [16, 32])
def test_rows_of_the_shipped_model_are_made_up(
    monkeypatch: pytest.MonkeyPatch, length: int, tmp_path: Path
) -> None:
    def run(shaped: Recipe, target: str, python: str, **options: Any) -> Measured:
        assert (options["rows"], shaped.accumulation.steps) == (None, 2)
        peak = BACKWARD + shaped.batch.micro_batch_size * KIB
        return Measured(peak, (), "0.10", SIZES, holds_window=True, planned=True)

    monkeypatch.setattr(short_runs, "measure", run)
    bert = recipe_of(data=f"{{source: synthetic, sequence_length: {length}}}")
    found = short_runs.measure_model(bert, "jax", "python3", folder=tmp_path, timeout=9.0)
    assert found.held_row == 8 * (3 * length + 1)
    estimate = estimate_of_runs(bert, find_target("jax"), "cuda", found)
    assert (estimate.evidence, estimate.bound) == ("planned", False)


@given(
    lines=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**4)), min_size=1),
    rows=st.integers(1, 64),
    widened=st.booleans(),
)
def test_between_runs_nothing_is_too_low(
    lines: list[tuple[int, int]], rows: int, widened: bool
) -> None:
    def peak(count: int) -> int:
        return 17 * KIB + max(fixed + count * per_row for fixed, per_row in lines)

    peaks = tuple((count, peak(count)) for count in (2, 4, 8, 16, 32, 64))
    found = MeasuredModel(peaks=peaks, held_row=0, widened=widened, planned=False, **SIZES)
    estimate = estimate_of_runs(recipe(rows), PADDLE, "cuda", found)
    assert estimate.peak_bytes >= peak(rows)
    assert estimate.peak_bytes == peak(rows) or rows not in dict(peaks) or widened
    assert estimate.margin_bytes == int(MARGIN * estimate.peak_bytes)
    assert (estimate.evidence, estimate.bound) == ("measured", widened)
    assert sum(part.bytes for part in estimate.components) == estimate.peak_bytes
    assert 0 < estimate.fixed_bytes <= estimate.peak_bytes
