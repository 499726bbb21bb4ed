"""Level L1d: the files that a run leaves, and what it is when it is resumed from them."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crosscast.plan.canonical import canonical_plan
from crosscast.reference.rounding import round_to
from crosscast_parity.inside.session import Run, Session
from crosscast_parity.levels.files import (
    check_checkpoint,
    check_files,
    check_status,
    expected_counters,
)
from crosscast_parity.recordings.observations import ObservedWindow
from left_fakes import OVERFLOW, WINDOWS, Left, left, save
from parity_fakes import good_rows, make_recipe
from replay_fakes import Arrays

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
        ("stuck", 1),
        ("stuck", None),
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


def test_what_a_run_says_of_its_windows_is_that_of_its_trace() -> None:
    rows = good_rows(4, skipped=[2])
    assert check_status(rows, 4, 3).result == "pass"
    assert check_status(rows, None, 3).result == "pass"
    assert check_status(rows, None, None).result == "not tested"
    for windows, updates, words in ((4, 4, "updates is 4, not 3"), (5, 3, "windows is 5, not 4")):
        check = check_status(rows, windows, updates)
        assert (check.result, check.wording) == ("fail", f"in status.json {words}")


def test_overflows_in_a_row_at_the_lowest_scale_are_counted() -> None:
    """A static scale never falls; a dynamic one stops at `min_scale`."""
    falling = {"mode": "dynamic", "min_scale": 256.0, "init_scale": 1024.0}
    for scaling, skipped, wanted in (
        ({"mode": "static", "scale": 8.0}, (1, 2, 3), 3),
        ({"mode": "static", "scale": 8.0}, (1, 2), 0),
        ({"mode": "static", "scale": 8.0}, (0, 2, 3), 2),
        (falling, (0, 1, 2, 3), 2),
        (falling, (2, 3), 0),
    ):
        plan = canonical_plan(make_recipe(scaled=False, loss_scaling=scaling))
        rows = good_rows(4, plan=plan, skipped=skipped)
        assert expected_counters(plan, rows)["stuck"] == wanted, (scaling, skipped)


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
    save(tmp_path / "checkpoint.safetensors", arrays, counters=text)
    (check,) = check_checkpoint(tmp_path, canonical_plan(found.recipe), [], ())
    assert check.result == "fail"
    assert check.wording.startswith("checkpoint.safetensors has `counters`")
    save(tmp_path / "checkpoint.safetensors", {"loose": np.zeros(1, np.float32)})
    (check,) = check_checkpoint(tmp_path, canonical_plan(found.recipe), [], ())
    assert "'loose'" in check.wording


@pytest.fixture
def few_objects() -> None:
    """A session collects garbage after each run: that of thousands of tests is not its business."""
    gc.freeze()


@pytest.mark.usefixtures("few_objects")
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
    second = "1 --windows 4 --resume --checkpoint-every 3"  # after the first window
    assert said == ["1 --windows 4 --windows 2", second]
    assert json.loads((tmp_path / "done.json").read_text())["exit_code"] == 0


@pytest.mark.usefixtures("few_objects")
def test_a_part_that_fails_is_not_resumed(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("def main(argv):\n    return 5 if '--resume' not in argv else 0\n")
    Session(tmp_path, "", None).make(Run("a", str(script), str(tmp_path), [], resume=2))
    assert json.loads((tmp_path / "done.json").read_text())["exit_code"] == 5
