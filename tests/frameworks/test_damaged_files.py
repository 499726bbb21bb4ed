"""Damaged checkpoints and weights: every script refuses them, or reads what was saved."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from frameworks.emitted_script import FLOAT16, TINY, emit, tiny_recipe, write_rows
from frameworks.own_state_models import SOURCES
from frameworks.script_runs import calls
from frameworks.subprocesses import run_python
from tiers import cases

pytestmark = [*(pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle, pytest.mark.jax)]

FRAMEWORKS = ("torch", "tensorflow", "paddle", "jax")
SMALL = {"layers": 1, "hidden_size": 8, "attention_heads": 2, "intermediate_size": 12}
MODEL = TINY["model"] | SMALL | {"vocab_size": 128}
DYNAMIC = {"mode": "dynamic", "init_scale": 1024.0, "max_scale": 4096.0, "hysteresis": 2}
FACTORY = dict.fromkeys(FRAMEWORKS, "net:build_model")
OWN = {"kind": "custom", "factory": FACTORY}
ADAFACTOR = {"name": "adafactor", "learning_rate": 1e-2}
DYNAMIC_AVERAGED = {"precision": FLOAT16, "loss_scaling": DYNAMIC, "ema": {"decay": 0.9}}
RECIPES: dict[str, dict[str, Any]] = {
    "dynamic": DYNAMIC_AVERAGED,
    "every tensor": DYNAMIC_AVERAGED,
    "static": {"precision": FLOAT16, "loss_scaling": {"mode": "static", "scale": 64.0}},
    "float32": {"optimizer": {"name": "lamb", "learning_rate": 1e-3}},
    "sgd": {"optimizer": {"name": "sgd", "learning_rate": 0.01}},
    "adafactor": {"optimizer": ADAFACTOR},
    "own": {"model": OWN, "ema": {"decay": 0.9}},
    "own adafactor": {"model": OWN, "optimizer": ADAFACTOR},
}
QUICK = "dynamic"
MORE = "every tensor damaged; files of more recipes and of TensorFlow"


QUICK_PAIRS = [("torch", QUICK), ("paddle", QUICK)]


@pytest.mark.parametrize(
    ("framework", "name"),
    cases(itertools.product(FRAMEWORKS, RECIPES), quick=QUICK_PAIRS, reason=MORE),
)
def test_damaged_files(framework: str, name: str, tmp_path: Path) -> None:
    recipe = tiny_recipe(**{"model": MODEL, **RECIPES[name]})
    folder = emit(recipe, framework, tmp_path / "script")
    if "own" in name:
        (folder / "net.py").write_text(SOURCES[framework])
    rows = [write_rows(tmp_path / f"{part}.npz", 20) for part in ("train", "eval")]
    flags = ["--train", str(rows[0]), "--eval", str(rows[1]), "--device", "cpu"]
    if framework == "paddle" and recipe.scaling_on:
        flags.append("--use_fp16=false")
    program = Path(__file__).with_name("run_damaged.py")
    most = 0 if name == "every tensor" else 1
    given = (program, framework, folder / "train.py", tmp_path / "out", most, json.dumps(flags))
    found = run_python(*given, timeout=580)
    counts = found["counts"]
    print(framework, name, counts)
    assert not found["wrong"], found["wrong"][:10]
    assert counts["tried"] >= (500 if name == QUICK else 250)
    assert counts["refused"] + counts["same"] == counts["tried"]


TRACES: dict[str, tuple[Callable[[bytes], bytes | None], int, list[int]]] = {
    "whole": (lambda text: text, 0, [0, 1, 2]),
    "missing": (lambda text: None, 2, [2]),
    "empty": (lambda text: b"", 2, [2]),
    "one row": (lambda text: text.splitlines(keepends=True)[0], 1, [0, 2]),
    "cut": (lambda text: text[:-30], 1, [0, 2]),
    "cut in its first row": (lambda text: text[30:], 1, [1, 2]),
    "another encoding": (lambda text: text.decode().encode("utf-16"), 2, [2]),
    "no UTF-8": (lambda text: text.replace(b"loss", b"lo\xff\xfe", 1), 1, [1, 2]),
    "a row of a list": (lambda text: b"[1]\n" + text, 0, [0, 1, 2]),
    "a deep row": (lambda text: b"[" * 100_000 + b"\n" + text, 0, [0, 1, 2]),
    "a window of no number": (lambda text: text.replace(b'w": 0', b'w": "0"'), 1, [1, 2]),
    "in another order": (lambda text: b"".join(text.splitlines(True)[::-1]), 0, [0, 1, 2]),
    "a window after it, cut": (lambda text: text + b'{"window": 2, "lo', 0, [0, 1, 2]),
    "a window after it": (lambda text: text + b'{"window": 2}\n', 0, [0, 1, 2]),
}
"""What happened to the trace of windows 0 and 1; how many rows are lost; windows in the end."""


@pytest.mark.parametrize(
    "framework", cases(FRAMEWORKS, quick=["torch"], reason="the same code in other frameworks")
)
def test_a_resumed_run_says_what_its_trace_has_lost(framework: str, tmp_path: Path) -> None:
    folder = emit(tiny_recipe(model=MODEL), framework, tmp_path / "script")
    rows = write_rows(tmp_path / "rows.npz", 20)
    flags = ("--train", rows, "--eval", rows, "--device", "cpu", "--checkpoint-every", "1")
    good, straight = tmp_path / "good", tmp_path / "straight"
    first = calls(
        folder / "train.py",
        framework,
        [(good, (*flags, "--windows", "2")), (straight, (*flags, "--windows", "3"))],
    )
    assert [run.code for run in first] == [0, 0], first
    text = (good / "trace.jsonl").read_bytes()
    for name, (damage, _, _) in TRACES.items():
        shutil.copytree(good, tmp_path / name)
        changed = damage(text)
        if changed is None:
            (tmp_path / name / "trace.jsonl").unlink()
        else:
            (tmp_path / name / "trace.jsonl").write_bytes(changed)
    (tmp_path / "a folder" / "trace.jsonl").mkdir(parents=True)
    shutil.copy(good / "checkpoint.safetensors", tmp_path / "a folder")
    argv = (*flags, "--windows", "3", "--resume")
    runs = calls(
        folder / "train.py", framework, [(tmp_path / n, argv) for n in (*TRACES, "a folder")]
    )
    runs.pop().refused("trace.jsonl")
    whole = first[1].trace
    for run, (name, (_, lost, kept)) in zip(runs, TRACES.items(), strict=True):
        assert (name, run.code, run.traceback) == (name, 0, "")
        said = f"trace.jsonl lacks {lost} of the rows of 2 windows; going on without"
        assert (name, said in run.stdout) == (name, bool(lost))
        assert (name, run.trace) == (name, [whole[number] for number in kept])
        assert {n: a.tobytes() for n, a in run.weights.items()} == {
            n: a.tobytes() for n, a in first[1].weights.items()
        }


@pytest.mark.parametrize(
    "framework", cases(FRAMEWORKS, quick=["torch"], reason="the same code in other frameworks")
)
def test_what_a_killed_save_leaves_is_gone_with_the_next(framework: str, tmp_path: Path) -> None:
    folder = emit(tiny_recipe(model=MODEL, ema={"decay": 0.9}), framework, tmp_path / "script")
    rows = write_rows(tmp_path / "rows.npz", 20)
    flags = ("--train", rows, "--eval", rows, "--device", "cpu", "--windows", "2")
    output = tmp_path / "out"
    names = [f"{name}.safetensors" for name in ("checkpoint", "ema", "model")]
    for name in names:
        left = (output / name).with_suffix(".saving")
        left.mkdir(parents=True)
        (left / name).write_bytes(b"half")
        (left / ".tmpAbCdEf").write_bytes(b"half")
    (output / ".tmpMine").write_text("of the user")
    before = os.umask(0o027)
    try:
        (run,) = calls(folder / "train.py", framework, [(output, flags)])
    finally:
        os.umask(before)
    assert (run.code, run.stderr, run.traceback) == (0, "", "")
    found = sorted(path.name for path in output.iterdir())
    assert found == sorted([".tmpMine", *names, "lock", "status.json", "trace.jsonl"])
    modes = {path.name: path.stat().st_mode & 0o777 for path in output.iterdir()}
    del modes[".tmpMine"]
    assert set(modes.values()) == {0o640}, modes


FLAGS: list[tuple[str, ...]] = [
    *(
        ("--threads", text)
        for text in ("9" * 20, "2147483648", "5000", "0", "-1", "nan", "", "1e3")
    ),
    *(("--windows", text) for text in ("9" * 20, "2147483648", "9" * 5000, "-1", "inf", "", "1.0")),
    *(("--checkpoint-every", text) for text in ("9" * 20, "0", "nan")),
    *(("--log-every", text) for text in ("9" * 20, "0", "x")),
    *(("--output", text) for text in ("x" * 300, "/dev/null/x", "/proc/none")),
    *(("--weights", text) for text in ("x" * 300, "/dev/null/x", "/")),
]
SCALE_FLAGS = [
    *(("--init_loss_scaling", text) for text in ("1e400", "nan", "-1", "0", "", "1e39", "x")),
    *(("--incr_every_n_steps", text) for text in ("9" * 20, "0", "1e3")),
    *(("--decr_every_n_nan_or_inf", text) for text in ("9" * 20, "0", "nan")),
    *(("--incr_ratio", text) for text in ("nan", "inf", "1e400", "1", "")),
    *(("--decr_ratio", text) for text in ("nan", "inf", "1", "0", "")),
    *(("--use_fp16", text) for text in ("2", "", "nan")),
]


@pytest.mark.parametrize(
    "framework", cases(FRAMEWORKS, quick=["paddle"], reason="the same code in other frameworks")
)
def test_absurd_flags(framework: str, tmp_path: Path) -> None:
    recipe = tiny_recipe(model=MODEL, precision=FLOAT16, loss_scaling=DYNAMIC)
    folder = emit(recipe, framework, tmp_path / "script")
    rows = write_rows(tmp_path / "rows.npz", 20)
    half = ("--use_fp16=false",) if framework == "paddle" else ()
    usual = ("--train", rows, "--eval", rows, "--device", "cpu", *half)
    flags = FLAGS + (SCALE_FLAGS if framework == "paddle" else [])
    listed = [(tmp_path / "out", (*usual, *given)) for given in flags]
    for given, run in zip(flags, calls(folder / "train.py", framework, listed), strict=True):
        assert (given, run.traceback, run.code) == (given, "", 2)
        assert run.stderr.strip(), given
