"""Level L1d: the files that a run leaves, and what it is when it is resumed from them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Dtype
from crosscast.recipe.document import Recipe
from crosscast.reference.rounding import round_to
from crosscast_parity.checks.check import Check
from crosscast_parity.inside.session import Run, Session
from crosscast_parity.levels.files import check_checkpoint, check_files
from crosscast_parity.levels.gate import check_gate, check_resumed
from crosscast_parity.levels.repeated import Repeated, Rounding
from crosscast_parity.recordings.observations import ObservedWindow
from parity_fakes import good_rows
from replay_fakes import Arrays, Recorder, micro_batches, stress

WINDOWS = 4
DTYPES: tuple[Dtype, ...] = ("float32", "float16", "bfloat16")
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
        _save(folder / "model.safetensors", self.weights)
        if self.averages:
            _save(folder / "ema.safetensors", self.averages)
        parts = {
            "model": self.checkpoint or self.weights,
            "optimizer": self.moments,
            "ema": self.averages,
        }
        arrays = {f"{part}/{n}": a for part, named in parts.items() for n, a in named.items()}
        _save(folder / "checkpoint.safetensors", arrays, counters=json.dumps(self.counters))

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


def _save(path: Path, arrays: Arrays, **metadata: str) -> None:
    save_file({n: np.ascontiguousarray(a) for n, a in arrays.items()}, path, metadata)


def left(**changes: str) -> Left:
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
        counters |= {"scale": scale.scale, "good": scale.good, "bad": scale.bad}
    return Left(
        recipe,
        tuple(seen),
        dict(recorder.parameters),
        dict(recorder.average) if recipe.ema.decay else {},
        {f"{slot}/{n}": a for slot, some in recorder.moments.items() for n, a in some.items()},
        counters,
    )


SGD = {"optimizer": "{name: sgd, learning_rate: 0.1, momentum: 0.9}"}
CORRECT: list[dict[str, str]] = [
    {},
    {"ema": "{}"},
    SGD,
    {"optimizer": "{name: sgd, learning_rate: 0.1}"},
    {"optimizer": "{name: lion, learning_rate: 1e-4}"},
    {"optimizer": "{name: adafactor, learning_rate: 1e-2}"},
    {"precision": "{mode: none}", "loss_scaling": "{mode: none}"},
    {"loss_scaling": "{mode: static, scale: 1024}"},
    {"loss_scaling": "{mode: dynamic, init_scale: 1024, growth_interval: 9, hysteresis: 2}"},
]


@pytest.mark.parametrize("changes", CORRECT)
def test_what_a_correct_run_leaves_passes(tmp_path: Path, changes: dict[str, str]) -> None:
    assert left(**changes).failed(tmp_path / "run") == {}


def of_each(found: Left, change: Callable[[np.ndarray], np.ndarray]) -> Arrays:
    return {name: change(array) for name, array in found.weights.items()}


def transposed(array: np.ndarray) -> np.ndarray:
    return array.T if array.shape == array.T.shape else array


WRONG_WEIGHTS: dict[str, Callable[[Left], Arrays]] = {
    "the averages": lambda found: found.averages,
    "the weights of the window before": lambda found: dict(found.seen[-1].before),
    "transposed": lambda found: of_each(found, transposed),
    "rounded to float16": lambda found: of_each(found, lambda a: round_to(a, "float16")),
    "rounded to bfloat16": lambda found: of_each(found, lambda a: round_to(a, "bfloat16")),
    "": lambda found: of_each(found, lambda a: np.nextafter(a, np.float32(9))),
}


@pytest.mark.parametrize("cause", WRONG_WEIGHTS)
def test_other_weights_are_seen_and_named(tmp_path: Path, cause: str) -> None:
    found = left()
    found.checkpoint, found.weights = found.weights, WRONG_WEIGHTS[cause](found)
    wrong = found.failed(tmp_path)
    assert wrong.keys() == {"weights file", "checkpoint weights"}
    assert wrong["weights file"].endswith(f": {cause}" if cause else "tensors")


def test_files_that_are_not_float32_or_lack_tensors(tmp_path: Path) -> None:
    found = left()
    whole = dict(found.weights)
    found.weights = of_each(found, lambda a: a.astype(np.float16))
    assert "as F16, not F32" in found.failed(tmp_path)["weights file"]
    found.weights = {n: a for n, a in whole.items() if not n.startswith("classifier")}
    assert "classifier.bias" in found.failed(tmp_path)["weights file"]
    found.weights = whole | {"another": np.zeros(1, np.float32)}
    assert "another" in found.failed(tmp_path)["weights file"]
    found.weights = {n: a.reshape(-1) for n, a in whole.items()}
    assert "weights file" in found.failed(tmp_path)


def test_other_averages_are_seen(tmp_path: Path) -> None:
    found = left()
    right = found.averages
    found.averages = dict(found.weights)
    wrong = found.failed(tmp_path)
    assert wrong["averages file"].endswith(": the weights")
    found.averages = {n: 0.9 * a + np.float32(0.1) * found.weights[n] for n, a in right.items()}
    assert "averages file" in found.failed(tmp_path)


def test_a_missing_file_is_seen(tmp_path: Path) -> None:
    found = left()
    found.write(tmp_path)
    rows = [window.row for window in found.seen]
    (tmp_path / "ema.safetensors").unlink()
    (wrong,) = (c for c in check_files(tmp_path, rows, found.seen) if c.result == "fail")
    assert wrong.wording == "ema.safetensors is missing"


def test_nothing_is_said_where_the_last_window_was_not_recorded(tmp_path: Path) -> None:
    found = left()
    rows = [window.row for window in found.seen]
    assert not list(check_files(tmp_path, rows, found.seen[:-1]))
    found.write(tmp_path)
    checks = check_checkpoint(tmp_path, canonical_plan(found.recipe), rows, found.seen[:-1])
    assert "checkpoint moments" not in {check.name for check in checks}


def results_after_a_gap(folder: Path, found: Left, last: ObservedWindow) -> dict[str, str]:
    found.write(folder)
    rows, seen = [window.row for window in found.seen], (found.seen[0], last)
    plan = canonical_plan(found.recipe)
    checks = (*check_files(folder, rows, seen), *check_checkpoint(folder, plan, rows, seen))
    return {check.name: check.result for check in checks}


@pytest.mark.parametrize("changes", CORRECT)
def test_files_are_compared_with_a_last_window_after_a_gap(
    tmp_path: Path, changes: dict[str, str]
) -> None:
    found = left(**changes)
    checks = results_after_a_gap(tmp_path, found, found.seen[-1])
    assert {"weights file", "checkpoint weights", "checkpoint counters"} <= checks.keys()
    assert "checkpoint moments" in checks
    assert "fail" not in checks.values()


def test_moments_after_a_gap_are_those_of_the_windows_from_it_on(tmp_path: Path) -> None:
    found = left()
    found.moments = {n: a * np.float32(1.01) for n, a in found.moments.items()}
    wrong = results_after_a_gap(tmp_path, found, found.seen[-1])
    assert {name for name, result in wrong.items() if result == "fail"} == {"checkpoint moments"}
    unknown = results_after_a_gap(tmp_path, found, replace(found.seen[-1], held=None))
    assert "checkpoint moments" not in unknown
    assert "weights file" in unknown


def test_moments_that_a_skipped_last_window_moved_are_seen(tmp_path: Path) -> None:
    found = left()
    last = found.seen[OVERFLOW]
    assert last.row.skipped
    assert last.held is not None
    found.seen = found.seen[: OVERFLOW + 1]
    found.moments = dict(last.held.moments)
    assert results_after_a_gap(tmp_path, found, last)["checkpoint moments"] == "pass"
    found.moments = {n: 2 * a for n, a in found.moments.items()}
    assert results_after_a_gap(tmp_path, found, last)["checkpoint moments"] == "fail"


@pytest.mark.parametrize(
    ("counter", "value"),
    [
        ("good", 0),
        ("good", None),
        ("bad", 1),
        ("scale", 512.0),
        ("updates", WINDOWS),
        ("windows", WINDOWS - 1),
        ("updates", True),
        ("scale", "1"),
    ],
)
def test_wrong_counters_are_seen(tmp_path: Path, counter: str, value: object) -> None:
    found = left()
    found.counters[counter] = value
    wrong = found.failed(tmp_path)
    assert wrong.keys() == {"checkpoint counters"}
    assert wrong["checkpoint counters"].startswith(counter)


def test_wrong_moments_are_seen(tmp_path: Path) -> None:
    found = left()
    right = found.moments
    name = next(name for name in right if name.startswith("exp_avg_sq/"))
    others = (
        {n: 0 * a for n, a in right.items()},
        {n: a * np.float32(1.01) if n == name else a for n, a in right.items()},
        {n: a for n, a in right.items() if n != name},
        {n.replace("exp_avg_sq", "exp_avg_squared"): a for n, a in right.items()},
        {n: transposed(a) for n, a in right.items()},
    )
    for moments in others:
        found.moments = moments
        assert found.failed(tmp_path).keys() == {"checkpoint moments"}


def test_other_weights_or_averages_in_a_checkpoint_are_seen(tmp_path: Path) -> None:
    found = left()
    found.checkpoint = found.averages
    assert found.failed(tmp_path).keys() == {"checkpoint weights"}


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000])
def test_a_damaged_checkpoint_is_told(tmp_path: Path, text: str) -> None:
    found = left()
    found.write(tmp_path)
    arrays = {f"model/{name}": array for name, array in found.weights.items()}
    _save(tmp_path / "checkpoint.safetensors", arrays, counters=text)
    (check,) = check_checkpoint(tmp_path, canonical_plan(found.recipe), [], ())
    assert check.result == "fail"
    assert check.wording.startswith("checkpoint.safetensors has `counters`")
    _save(tmp_path / "checkpoint.safetensors", {"loose": np.zeros(1, np.float32)})
    (check,) = check_checkpoint(tmp_path, canonical_plan(found.recipe), [], ())
    assert "'loose'" in check.wording


ROWS = good_rows(4)


def resumed(
    folder: Path, second: Left, again: list[Any], dtype: Dtype = "float32"
) -> dict[str, Check]:
    first = left()
    first.write(folder / "first")
    second.write(folder / "second")
    start = {name: array - np.float32(1e-2) for name, array in first.weights.items()}
    _save(folder / "start.safetensors", start)
    runs = (Repeated(ROWS, folder / "first"), Repeated(again, folder / "second"))
    rounding = Rounding(dtype, folder / "start.safetensors")
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
        _save(tmp_path / "start.safetensors", start)
        runs = (Repeated(ROWS, tmp_path / "first"), Repeated(ROWS, tmp_path / "second"))
        rounding = Rounding("float32", tmp_path / "start.safetensors")
        traces, weights = check_gate(*runs, rounding)
        assert (traces.result, weights.result) == ("pass", result)


def test_a_session_ends_a_run_and_resumes_it(tmp_path: Path) -> None:
    """Both parts write into one folder; the script is loaded anew, as another process would."""
    script = tmp_path / "train.py"
    script.write_text(
        "from pathlib import Path\n"
        "loads = []\n"
        "def main(argv):\n"
        "    loads.append(1)\n"
        "    out = Path(argv[argv.index('--output') + 1])\n"
        "    with (out / 'said').open('a') as file:\n"
        "        print(len(loads), *argv[2:], file=file)\n"
    )
    arguments = ["--output", str(tmp_path), "--windows", "4"]
    Session(tmp_path, "", None).make(Run("a", str(script), str(tmp_path), arguments, resume=2))
    said = (tmp_path / "said").read_text().splitlines()
    assert said == ["1 --windows 4 --windows 2", "1 --windows 4 --resume"]
    assert json.loads((tmp_path / "done.json").read_text())["exit_code"] == 0


def test_a_part_that_fails_is_not_resumed(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("def main(argv):\n    return 5 if '--resume' not in argv else 0\n")
    Session(tmp_path, "", None).make(Run("a", str(script), str(tmp_path), [], resume=2))
    assert json.loads((tmp_path / "done.json").read_text())["exit_code"] == 5
