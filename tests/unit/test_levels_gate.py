"""Two equal runs of a program, one of them resumed: what rounding may change, and what must not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.plan.operations import Dtype
from crosscast_parity.checks.check import Check
from crosscast_parity.levels.gate import check_gate, check_resumed
from crosscast_parity.levels.repeated import Repeated, Rounding
from left_fakes import Left, left, save
from parity_fakes import good_rows

DTYPES: tuple[Dtype, ...] = ("float32", "float16", "bfloat16")
ROWS = good_rows(4)


def resumed(
    folder: Path,
    second: Left,
    again: list[Any],
    dtype: Dtype = "float32",
    *,
    allowed: bool = True,
    first: Left | None = None,
) -> dict[str, Check]:
    first = first or left()
    first.write(folder / "first")
    second.write(folder / "second")
    start = {name: array - np.float32(1e-2) for name, array in first.weights.items()}
    save(folder / "start.safetensors", start)
    runs = (Repeated(ROWS, folder / "first"), Repeated(again, folder / "second"))
    rounding = Rounding(dtype, folder / "start.safetensors", allowed)
    return {check.name: check for check in check_resumed(*runs, 2, rounding)}


def row_with(window: int, **changes: Any) -> list[Any]:
    return [replace(row, **changes) if row.window == window else row for row in ROWS]


def loss_off(window: int, by: float) -> list[Any]:
    loss = ROWS[window].loss
    assert loss is not None
    return row_with(window, loss=loss * (1 + by))


def test_a_resumed_run_that_is_the_same(tmp_path: Path) -> None:
    checks = resumed(tmp_path, left(), list(ROWS))
    assert [(c.level, c.result) for c in checks.values()] == [("gate", "pass"), ("L1d", "pass")]
    assert checks["resume"].wording == "bit-equal in 4 windows and 3 files, resumed at window 2"


def test_a_row_before_the_resume_is_the_gate(tmp_path: Path) -> None:
    checks = resumed(tmp_path, left(), row_with(1, loss=9.0))
    assert (checks["traces"].result, checks["traces"].window) == ("fail", 1)
    assert checks["resume"].result == "not tested"


def test_a_row_after_the_resume_is_the_checkpoint(tmp_path: Path) -> None:
    checks = resumed(tmp_path, left(), row_with(3, loss=9.0))
    assert checks["traces"].result == "pass"
    assert (checks["resume"].result, checks["resume"].window) == ("fail", 3)
    assert resumed(tmp_path, left(), list(ROWS[:3]))["resume"].result == "fail"


PARTS = ["weights", "averages", "moments"]


def shifted(part: str, by: float) -> Left:
    """The files of a run in which a share of one tensor, the largest, is off."""
    second = left()
    arrays = getattr(second, part)
    largest = max(arrays, key=lambda name: np.abs(arrays[name]).max())
    arrays[largest] = arrays[largest] * np.float32(1 + by)
    return second


@pytest.mark.parametrize("part", PARTS)
def test_other_last_bits_after_a_resume_are_rounding(tmp_path: Path, part: str) -> None:
    """TensorFlow adds some gradients in another order in one of many runs, resumed or not."""
    check = resumed(tmp_path, shifted(part, 2e-7), loss_off(3, 2e-7))
    assert check["resume"].result == "pass"
    assert "not bit-equal" in check["resume"].wording
    assert 0 < (check["resume"].value or 0) <= 1


@pytest.mark.parametrize(("part", "by"), [("weights", 2e-2), ("averages", 2e-2), ("moments", 1e-3)])
def test_files_that_differ_after_a_resume(tmp_path: Path, part: str, by: float) -> None:
    """Weights by more than a share of what they moved, which is 1e-2; moments by their own size."""
    check = resumed(tmp_path, shifted(part, by), list(ROWS))["resume"]
    assert check.result == "fail"
    assert "differs after a resume at window 2" in check.wording


@pytest.mark.parametrize("part", ["weights", "averages"])
def test_every_weight_is_compared_by_itself_after_a_resume(tmp_path: Path, part: str) -> None:
    """One that gradients move; beside the movement of all weights a small one is nothing."""
    first = left()
    sizes = {
        n.partition("/")[2]: np.abs(a).max() for n, a in first.moments.items() if "_sq" not in n
    }
    near = [name for size, name in sorted((s, n) for n, s in sizes.items())]
    small, rounding = near[len(near) // 2], near[0]
    for name, result in ((small, "fail"), (rounding, "pass")):
        second = left()
        if name == rounding:  # as the gradients of key biases
            for runs in (first, second):
                for moment in [m for m in runs.moments if m.endswith(f"/{name}")]:
                    runs.moments[moment] = runs.moments[moment] * np.float32(1e-12)
        arrays = getattr(second, part)
        arrays[name] = arrays[name] + np.float32(1e-3)  # a tenth of its movement
        check = resumed(tmp_path, second, list(ROWS), first=first)["resume"]
        assert check.result == result, (name, check.wording)


@pytest.mark.parametrize("part", PARTS)
def test_a_tensor_that_is_missing_after_a_resume(tmp_path: Path, part: str) -> None:
    second = left()
    arrays = getattr(second, part)
    del arrays[sorted(arrays)[0]]
    assert resumed(tmp_path, second, list(ROWS))["resume"].result == "fail"


def test_moments_of_a_small_tensor_that_begin_again_are_seen(tmp_path: Path) -> None:
    """One of a hundred times smaller gradients, beside which rounding is still nothing."""
    sizes = {n: np.abs(a).max() for n, a in left().moments.items() if n.startswith("exp_avg/")}
    floor = 1e-2 * max(sizes.values())
    _, least = min((size, name) for name, size in sizes.items() if size > floor)
    second = left()
    second.moments[least] = 0 * second.moments[least]
    assert resumed(tmp_path, second, list(ROWS), "bfloat16")["resume"].result == "fail"


def test_counters_must_be_equal_after_a_resume(tmp_path: Path) -> None:
    second = left()
    second.counters["good"] = 7
    check = resumed(tmp_path, second, list(ROWS))["resume"]
    assert check.result == "fail"
    assert "differs after a resume at window 2" in check.wording


@pytest.mark.parametrize(
    "change", [{"lr": 1e-9}, {"scale": 2.0}, {"updates": 9}, {"rows": 15}, {"skipped": True}]
)
def test_what_is_not_computed_in_floats_must_be_equal(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    assert resumed(tmp_path, left(), row_with(1, **change))["traces"].result == "fail"
    assert resumed(tmp_path, left(), row_with(3, **change))["resume"].result == "fail"


def test_half_precision_rounds_more(tmp_path: Path) -> None:
    """Its limit is that of the type; in float32 the same difference is a mistake."""
    again = loss_off(1, 1e-3)
    results = {d: resumed(tmp_path, left(), again, d)["traces"].result for d in DTYPES}
    assert results == {"float32": "fail", "float16": "pass", "bfloat16": "pass"}


def test_two_runs_of_your_script(tmp_path: Path) -> None:
    """They leave weights only; nothing is resumed."""
    for by, result in ((0.0, "pass"), (2e-7, "pass"), (2e-2, "fail")):
        first, second = left(), shifted("weights", by)
        first.write(tmp_path / "first")
        second.write(tmp_path / "second")
        start = {name: array - np.float32(1e-2) for name, array in first.weights.items()}
        save(tmp_path / "start.safetensors", start)
        runs = (Repeated(ROWS, tmp_path / "first"), Repeated(ROWS, tmp_path / "second"))
        rounding = Rounding("float32", tmp_path / "start.safetensors", allowed=True)
        traces, weights = check_gate(*runs, rounding)
        assert (traces.result, weights.result) == ("pass", result)


@pytest.mark.parametrize("part", PARTS)
def test_a_framework_that_repeats_bits_must_leave_them(tmp_path: Path, part: str) -> None:
    """PyTorch and Paddle, as far as was seen: any other bit is a difference."""
    same = resumed(tmp_path, left(), list(ROWS), allowed=False)
    assert {check.result for check in same.values()} == {"pass"}
    files = resumed(tmp_path, shifted(part, 2e-7), list(ROWS), allowed=False)
    assert (files["traces"].result, files["resume"].result) == ("pass", "fail")
    assert resumed(tmp_path, left(), loss_off(3, 1e-9), allowed=False)["resume"].result == "fail"
    assert resumed(tmp_path, left(), loss_off(1, 1e-9), allowed=False)["traces"].result == "fail"
