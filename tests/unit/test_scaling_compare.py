"""Runs that were made up, held against each other: every deviation is seen, nothing else is."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.targets.backend import harness_of
from crosscast_parity.inside.rank import rank_of
from crosscast_parity.inside.steps import row_hashes
from crosscast_parity.processes.process import Outcome, OutcomeKind
from crosscast_parity.scaling_law.causes import likely_cause
from crosscast_parity.scaling_law.comparison import Case, compare
from crosscast_parity.scaling_law.envelope import Run, distances, measure_tolerance
from crosscast_parity.scaling_law.ranks import how_far, progress
from crosscast_parity.scaling_law.runs import ShapeRun
from crosscast_parity.scaling_law.scenes import Scene
from crosscast_parity.scaling_law.shapes import Shape, windows_of
from crosscast_parity.scaling_law.steps import Steps, read_steps
from parity_recipes import plain
from scaling_bench import subject_of

FLOAT32: dict[str, Any] = {
    "precision": {"mode": "none", "compute_dtype": "float32"},
    "loss_scaling": {"mode": "none"},
}
WINDOWS = 4
START = {"w": np.full(3, 2.0, np.float32), "b": np.zeros(2, np.float32)}
Line = dict[str, Any]
Change = Callable[[int, int, Line, dict[str, np.ndarray]], None]
"""Changes what a process (first) leaves of a window (second)."""


def nothing(rank: int, window: int, line: Line, arrays: dict[str, np.ndarray]) -> None:
    """Leave it as it is."""


def write(folder: Path, shape: Shape, change: Change = nothing, noise: float = 0.0) -> ShapeRun:
    """Write what the processes of a shape leave; `noise` moves everything a little."""
    subject = subject_of(plain(**FLOAT32), WINDOWS)
    recipe = shape.applied(subject.recipe)
    for window, ranks in enumerate(islice(windows_of(recipe, subject.train_rows), WINDOWS)):
        for rank, micros in enumerate(ranks):
            row = {
                "window": window,
                "n_micro": sum(map(len, ranks)),
                "rows": sum(len(m) for r in ranks for m in r),
                "loss": 1.0 - 0.1 * window + noise,
                "lr": 1e-3,
                "grad_norm": 0.5 + noise,
                "scale": 1.0,
                "skipped": False,
                "updates": window + 1,
            }
            arrays = {
                "parameters/w": START["w"] - np.float32(0.01 * (window + 1) + noise),
                "parameters/b": START["b"] - np.float32(0.01 * (window + 1) + noise),
                "exp_avg/w": np.full(3, 0.2 + noise, np.float32),
            }
            given = [row_hashes({"ids": m.reshape(-1, 1)}) for m in micros]
            line = {"row": row, "given": given, "counters": {}}
            change(rank, window, line, arrays)
            steps = folder / f"rank-{rank}" / "steps"
            steps.mkdir(parents=True, exist_ok=True)
            line["digests"] = {name: array.tobytes().hex() for name, array in arrays.items()}
            np.savez(steps / f"{window}.npz", **arrays)  # type: ignore[arg-type]
            with (steps / "steps.jsonl").open("a") as stream:
                stream.write(json.dumps(line) + "\n")
    ranks_found = [read_steps(folder / f"rank-{n}" / "steps") for n in range(shape.processes)]
    return ShapeRun(Outcome(kind="finished"), tuple(ranks_found))


def judged(
    folder: Path,
    change: Change = nothing,
    noise: float = 0.0,
    kind: OutcomeKind = "finished",
    both: Change = nothing,
) -> tuple[set[str], str]:
    """Return which checks of two processes fail, and the likely cause."""
    subject = subject_of(plain(**FLOAT32), WINDOWS)
    first, shape = subject.shapes[0], subject.shapes[-1]
    expected = write(folder / "reference", first, both)
    reference = Run(expected.ranks[0], START)
    twins = [
        Run(write(folder / f"twin-{n}", first, noise=n * 1e-8).ranks[0], START) for n in (1, 2, 3)
    ]
    made = write(folder / "many", shape, change, noise)
    case = Case(
        subject=subject,
        scene=Scene("plain"),
        shape=shape,
        shape_run=ShapeRun(Outcome(kind=kind), made.ranks),
        reference=reference,
        expected=expected,
        tolerance=measure_tolerance(reference, twins, (), WINDOWS, "float32"),
    )
    checks = compare(case)
    return {check.name for check in checks if check.result == "fail"}, likely_cause(case, checks)


def test_equal_runs_and_runs_apart_by_rounding_pass(tmp_path: Path) -> None:
    assert judged(tmp_path / "equal") == (set(), "")
    assert judged(tmp_path / "near", noise=2e-7) == (set(), "")


def norm_doubled(rank: int, window: int, line: Line, arrays: dict[str, np.ndarray]) -> None:
    line["row"]["grad_norm"] *= 2


def loss_halved(rank: int, window: int, line: Line, arrays: dict[str, np.ndarray]) -> None:
    line["row"]["loss"] /= 2


def one_rank_skips(rank: int, window: int, line: Line, arrays: dict[str, np.ndarray]) -> None:
    line["row"]["skipped"] = rank == 1 and window == 2


def one_rank_drifts(rank: int, window: int, line: Line, arrays: dict[str, np.ndarray]) -> None:
    if rank == 1 and window >= 2:
        arrays["parameters/b"] = np.nextafter(arrays["parameters/b"], np.float32(1))


def same_rows(rank: int, window: int, line: Line, arrays: dict[str, np.ndarray]) -> None:
    line["given"] = [[1, 2, 3, 4], [5, 6, 7, 8]]


def late(rank: int, window: int, line: Line, arrays: dict[str, np.ndarray]) -> None:
    if window == 3:
        arrays["exp_avg/w"] = arrays["exp_avg/w"] * np.float32(1.01)


def not_finite(rank: int, window: int, line: Line, arrays: dict[str, np.ndarray]) -> None:
    arrays["parameters/w"] = np.full(3, np.nan, np.float32)


def own_micro_batches(rank: int, window: int, line: Line, arrays: dict[str, np.ndarray]) -> None:
    line["row"]["n_micro"] = 2


@pytest.mark.parametrize(
    ("change", "fails", "cause"),
    [
        (norm_doubled, {"gradient norm"}, "gradients are summed over the 2 processes"),
        (loss_halved, {"loss"}, "only the reported loss is divided twice"),
        (one_rank_skips, {"processes agree on the trace"}, "each process checks its own gradients"),
        (one_rank_drifts, {"processes hold the same state"}, "processes do not make the same"),
        (same_rows, {"data"}, "several processes get the same rows"),
        (late, {"moments"}, "gradients are equal before clipping"),
        (not_finite, {"weights"}, "gradients are equal before clipping"),
        (own_micro_batches, {"micro-batches"}, "the counts of one process"),
    ],
)
def test_a_deviation_is_seen_and_named(
    tmp_path: Path, change: Change, fails: set[str], cause: str
) -> None:
    found, likely = judged(tmp_path, change)
    assert found == fails
    assert likely.startswith(cause)


def test_what_an_overflow_leaves_on_both_sides_is_not_compared(tmp_path: Path) -> None:
    def overflow(rank: int, window: int, line: Line, arrays: dict[str, np.ndarray]) -> None:
        if window == 3:
            line["row"]["loss"] = None
            arrays["parameters/w"] = np.full(3, np.nan, np.float32)

    assert judged(tmp_path / "both", overflow, both=overflow) == (set(), "")
    assert judged(tmp_path / "one", overflow)[0] == {"loss", "weights"}


def test_an_end_of_another_kind_is_a_difference(tmp_path: Path) -> None:
    found, likely = judged(tmp_path, kind="timeout")
    assert found == {"end"}
    assert likely.startswith("a deadlock")


def test_moments_that_only_one_side_has_are_far_apart(tmp_path: Path) -> None:
    def gone(rank: int, window: int, line: Line, arrays: dict[str, np.ndarray]) -> None:
        del arrays["exp_avg/w"]

    assert "moments" in judged(tmp_path, gone)[0]


def test_distances_are_of_what_weights_have_moved_by(tmp_path: Path) -> None:
    run = Run(write(tmp_path / "a", Shape(1, 1, 16)).ranks[0], START)
    far = Run(write(tmp_path / "b", Shape(1, 1, 16), noise=1e-4).ranks[0], START)
    found = distances(far, run, 0)
    assert found["parameters/b"] == pytest.approx(0.01, rel=1e-3)  # 1e-4 of 0.01
    assert found["exp_avg/w"] == pytest.approx(5e-4, rel=1e-3)
    assert set(distances(run, run, 0).values()) == {0.0}


def test_what_never_moves_may_be_infinite(tmp_path: Path) -> None:
    def masked(rank: int, window: int, line: Line, arrays: dict[str, np.ndarray]) -> None:
        arrays["parameters/mask"] = np.array([0.0, -np.inf], np.float32)

    def lifted(rank: int, window: int, line: Line, arrays: dict[str, np.ndarray]) -> None:
        arrays["parameters/mask"] = np.array([0.0, -1.0], np.float32)

    start = START | {"mask": np.array([0.0, -np.inf], np.float32)}
    runs = [
        Run(write(tmp_path / change.__name__, Shape(1, 1, 16), change).ranks[0], start)
        for change in (masked, lifted)
    ]
    assert distances(runs[0], runs[0], 0)["parameters/mask"] == 0.0
    assert distances(runs[1], runs[0], 0)["parameters/mask"] == np.inf


# what is read


def test_a_broken_line_is_left_out_and_a_broken_row_is_told(tmp_path: Path) -> None:
    steps = write(tmp_path / "run", Shape(1, 1, 16)).ranks[0]
    path = steps.folder / "steps.jsonl"
    text = path.read_text()
    path.write_text(text + text[:40])
    assert len(read_steps(steps.folder).steps) == WINDOWS
    path.write_text(text.replace('"rows": 16', '"rows": "x"', 1))
    with pytest.raises(DiagnosticError, match="rows"):
        read_steps(steps.folder)
    path.write_text('{"row": {}}\n')
    with pytest.raises(DiagnosticError):
        read_steps(steps.folder)
    assert read_steps(tmp_path / "none") == Steps((), tmp_path / "none")


def test_how_far_every_process_came(tmp_path: Path) -> None:
    assert progress(tmp_path) == 0
    write(tmp_path, Shape(2, 2, 4))
    assert progress(tmp_path) > 0
    assert how_far(tmp_path, 2) == "every process had finished 4"
    path = tmp_path / "rank-1" / "steps" / "steps.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    assert how_far(tmp_path, 2) == "finished: process 0 4, process 1 2"


@pytest.mark.parametrize(
    ("framework", "environment", "rank"),
    [
        ("torch", {"RANK": "3", "LOCAL_RANK": "1"}, 3),
        ("paddle", {"PADDLE_TRAINER_ID": "1"}, 1),
        ("tensorflow", {"TF_CONFIG": '{"cluster": {}, "task": {"type": "worker", "index": 2}}'}, 2),
        ("tensorflow", {"TF_CONFIG": "{}"}, 0),
        ("jax", {"RANK": "1", "LOCAL_RANK": "1"}, 1),
        ("torch", {}, 0),
    ],
)
def test_launchers_tell_a_process_its_number(
    framework: str, environment: dict[str, str], rank: int
) -> None:
    harness = harness_of(framework)
    assert harness is not None
    assert rank_of(environment, harness.rank_variable) == rank
