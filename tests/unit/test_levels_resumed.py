"""Level L1d: a resumed run goes on with the state that it ended with, bit for bit."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.plan.canonical import canonical_plan
from crosscast_parity.checks.check import Check
from crosscast_parity.inside.continuity import mark_stuck
from crosscast_parity.inside.session import Run, Session
from crosscast_parity.levels.resumed import check_restored
from crosscast_parity.recordings.resumed import read_resumed
from parity_fakes import good_rows, make_recipe

# Two weights, their moments and averages; `BUG` stands where a mistake is planted. Every window
# moves all of them, the second overflows, and a checkpoint is written after it and at the end.
SCRIPT = """
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file


def model_arrays(state):
    return dict(state.weights)


def optimizer_arrays(state):
    return {f"exp_avg/{n}": a for n, a in state.moments.items()}


def ema_arrays(state):
    return dict(state.averages)


def scaler_counters(state):
    return {"scale": state.scale, "good": state.good, "bad": 0}


def train_window(state, micro_batches):
    skipped = state.windows == 1
    if skipped:
        state.scale, state.good = state.scale / 2, 0
    else:
        state.updates, state.good = state.updates + 1, state.good + 1
        for some in (state.weights, state.moments, state.averages):
            for name in some:
                some[name] = some[name] * np.float32(1.1) + np.float32(0.3)
    state.windows += 1


def counters(state):
    return {"windows": state.windows, "updates": state.updates, "stuck": 0} | scaler_counters(state)


def save(path, state):
    arrays = {f"model/{n}": a for n, a in state.weights.items()}
    moments = {f"optimizer/{n}": a for n, a in optimizer_arrays(state).items()}
    # moments
    arrays |= moments | {f"ema/{n}": a for n, a in state.averages.items()}
    told = counters(state)
    # told
    save_file(arrays, path, {"counters": json.dumps(told)})


def load(path, state):
    arrays, told = load_file(path), json.loads(path.with_suffix(".json").read_text())
    for some, prefix in (
        (state.weights, "model/"), (state.moments, "optimizer/exp_avg/"), (state.averages, "ema/")
    ):
        some.update({n: arrays[prefix + n] for n in some})
    for name in ("windows", "updates", "scale", "good"):
        setattr(state, name, told[name])
    # loaded


def main(argv):
    values = dict(zip(argv[::2], argv[1::2])) if "--resume" not in argv else {}
    out = Path(argv[argv.index("--output") + 1])
    windows = int(argv[len(argv) - 1 if "--resume" not in argv else 3])
    state = SimpleNamespace(windows=0, updates=0, scale=1024.0, good=0)
    for name in ("weights", "moments", "averages"):
        numbers = np.arange(3, dtype=np.float32) / 7 + len(name)
        setattr(state, name, {"kernel": numbers, "bias": numbers[:1] / 3})
    path = out / "checkpoint.safetensors"
    run = SimpleNamespace(stuck=0)
    if "--resume" in argv:
        load(path, state)
        with safe_open(path, "numpy") as file:
            run.stuck = json.loads(file.metadata()["counters"])["stuck"]
        # began
    while state.windows < windows:
        before = state.windows
        train_window(state, [])
        state.windows = before + 1
        save(path, state)
        path.with_suffix(".json").write_text(json.dumps(counters(state)))
    return 0
"""
OUTPUT = "--output"


def restored(folder: Path, old: str = "", new: str = "", *, window: int = 3) -> Check:
    """The check of a run that a session makes in two parts, with lines in place of a comment.

    Window 1 is skipped: before window 2 an overflow was last.
    """
    assert old in SCRIPT
    text = SCRIPT.replace(old, new) if old else SCRIPT
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(text)
    gc.freeze()
    arguments = [OUTPUT, str(folder), "--windows", "5"]
    run = Run("a", str(folder / "train.py"), str(folder), arguments, resume=window)
    Session(folder, "", None).make(run)
    assert json.loads((folder / "done.json").read_text())["exit_code"] == 0
    plan = canonical_plan(make_recipe())
    return check_restored(read_resumed(folder / "resumed.json"), plan, good_rows(5, skipped=[1]))


def test_what_is_restored_whole_passes(tmp_path: Path) -> None:
    for window, counters in ((3, "scale, good, bad"), (2, "scale, good, bad, stuck")):
        check = restored(tmp_path / str(window), window=window)
        words = f"6 tensors bit-equal, windows, updates, {counters} as they were"
        assert (check.result, check.wording) == (
            "pass",
            f"window {window}, after a resume: {words}",
        )


@pytest.mark.parametrize(
    "counters",
    [
        {"windows": 3, "updates": 2, "good": 1, "stuck": 0},
        {"windows": 3, "updates": 3, "good": 0, "stuck": 0},
        {"windows": 3, "updates": 2, "good": 0, "stuck": 2},
        {"windows": 3, "updates": 2, "good": 0},
        {"stuck": 0},
    ],
)
def test_only_counters_that_a_run_can_have_are_changed(
    tmp_path: Path, counters: dict[str, int]
) -> None:
    """Scripts refuse others: an update after an overflow resets the count of overflows."""
    path = tmp_path / "checkpoint.safetensors"
    save_file({"model/a": np.zeros(1)}, path, {"counters": json.dumps(counters)})
    before = path.read_bytes()
    assert not mark_stuck(path)
    assert path.read_bytes() == before


HALF = "n: a.astype(np.float16).astype(np.float32) for n, a in"
TRUNCATED = "n: (a.view(np.uint32) & 0xFFFF0000).view(np.float32) for n, a in"
AVERAGE = 'state.averages["bias"] = '
BUGS = {
    "a scale that begins again": (
        ("    # loaded", "    state.scale = 1024.0"),
        "scale is 1024, it was 512",
    ),
    "a lost count of good windows": (("    # loaded", "    state.good = 0"), "good is 0, it was 1"),
    "windows for updates": (
        ("    # loaded", "    state.updates = state.windows"),
        "updates is 3, it was 2",
    ),
    "moments rounded to half": (
        ("    # moments", f"    moments = {{{HALF} moments.items()}}"),
        "exp_avg/bias is not what it was (2 of 6 tensors): rounded to float16",
    ),
    "moments cut to bfloat16": (
        ("    # moments", f"    moments = {{{TRUNCATED} moments.items()}}"),
        "exp_avg/bias is not what it was (2 of 6 tensors): rounded to bfloat16",
    ),
    "one average is the weight": (
        ("    # loaded", f'    {AVERAGE}state.weights["bias"]'),
        "ema/bias is not what it was (1 of 6 tensors): the weights",
    ),
    "one moment is lost": (
        ("    # loaded", '    state.moments["kernel"] *= 0'),
        "exp_avg/kernel is not what it was (1 of 6 tensors): zeros",
    ),
    "a last bit": (
        ("    # loaded", f"    {AVERAGE}np.nextafter({AVERAGE[:-3]}, np.float32(9))"),
        "ema/bias is not what it was (1 of 6 tensors)",
    ),
    "a tensor that is gone": (
        ("    # loaded", '    del state.moments["bias"]'),
        "exp_avg/bias is not what it was (1 of 6 tensors): missing",
    ),
    "a wrong count in the next checkpoint": (
        ("    # told", '    told["updates"] = state.updates + (state.windows > 3)'),
        "in the checkpoint after it updates is 4, not 3",
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_what_is_not_restored_is_named(tmp_path: Path, bug: str) -> None:
    (edit, words) = BUGS[bug]
    check = restored(tmp_path, *edit)
    assert (check.result, check.window) == ("fail", 3)
    assert check.wording == f"window 3, after a resume: {words}"


def test_a_lost_count_of_overflows_at_the_lowest_scale_is_named(tmp_path: Path) -> None:
    check = restored(tmp_path, "        # began", "        run.stuck = 0", window=2)
    assert (check.result, check.window) == ("fail", 2)
    assert check.wording == "window 2, after a resume: stuck is 0, it was 1"


def test_windows_that_are_counted_elsewhere_are_not_tested(tmp_path: Path) -> None:
    """Then the window before the resume is not found, although the script tells its state."""
    check = restored(tmp_path, "    state.windows += 1\n", "")
    assert check.result == "not tested"
    assert "ended with 3 windows counted" in check.wording


def test_a_script_that_tells_nothing_is_not_tested(tmp_path: Path) -> None:
    plan, rows = canonical_plan(make_recipe()), good_rows(5)
    assert read_resumed(tmp_path / "resumed.json") is None
    assert check_restored(None, plan, rows).result == "not tested"


WHOLE: dict[str, Any] = {"window": 3, "tensors": 1, "off": {}, "counters": {}, "next": None}


@pytest.mark.parametrize(
    "change",
    [{"window": "x"}, {"tensors": None}, {"off": []}, {"counters": {"good": [1]}}, {"next": [1]}],
)
def test_a_damaged_file_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "resumed.json"
    path.write_text(json.dumps(WHOLE))
    assert read_resumed(path) is not None
    for text in (json.dumps(WHOLE | change), "{", "[]", "[" * 100_000):
        path.write_text(text)
        with pytest.raises(DiagnosticError, match="CC723"):
            read_resumed(path)
