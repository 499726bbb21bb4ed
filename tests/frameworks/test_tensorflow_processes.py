"""Emitted TensorFlow scripts in two processes, started by the emitted launch.sh."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frameworks.emitted_script import FLOAT16, TINY, emit, tiny_recipe, write_rows
from frameworks.script_runs import Run
from frameworks.subprocesses import environment

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]

PARALLEL: dict[str, Any] = {
    "distributed": {"strategy": "data_parallel", "processes_per_node": 2},
}
SGD = {"name": "sgd", "learning_rate": 0.05, "momentum": 0.9}
DYNAMIC = {"mode": "dynamic", "init_scale": 2.0**24, "growth_interval": 3}
SECONDS = 280


class Lab:
    """Scripts below a folder, and the same small data for all of them: windows of 16, 16, 12."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.flags = (
            *("--train", write_rows(folder / "train.npz", 44), "--device", "cpu"),
            *("--eval", write_rows(folder / "eval.npz", 10, seed=1), "--threads", 1),
        )

    def script(self, name: str, **sections: Any) -> Path:
        return emit(tiny_recipe(**sections), "tensorflow", self.folder / name) / "train.py"

    def start(self, *command: object, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            list(map(str, command)),
            env=environment() | {"PYTHON": sys.executable} | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def end(self, process: subprocess.Popen[str], output: Path) -> Run:
        try:
            _, stderr = process.communicate(timeout=SECONDS)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return Run(output, process.returncode, stderr, "")

    def launch(self, script: Path, name: str, *flags: object) -> Run:
        output = script.parent / name
        command = (script.with_name("launch.sh"), *self.flags, "--output", output, *flags)
        return self.end(self.start(*command), output)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.mark.parametrize(
    "sections",
    [
        {"optimizer": SGD, "clipping": {"kind": "global_norm", "max_norm": 0.2}},
        {"accumulation": {"normalize_by": "token"}, "ema": {"decay": 0.5}},
    ],
    ids=["SGD, clipped", "AdamW, by tokens, averaged"],
)
def test_two_processes_train_as_one(lab: Lab, sections: dict[str, Any]) -> None:
    one, two = lab.script("one", **sections), lab.script("two", **sections, **PARALLEL)
    first = lab.launch(one, "first", "--windows", 1)
    assert first.code == 0, first.stderr
    flags = ("--weights", first.output / "model.safetensors", "--windows", 7)
    single, double = lab.launch(one, "out", *flags), lab.launch(two, "out", *flags)
    assert (single.code, double.code) == (0, 0), double.stderr
    for row, other in zip(single.trace, double.trace, strict=True):
        row["n_micro"] += row["rows"] == 12  # 4 + 2 rows on each of two
        for key, value in row.items():
            close = isinstance(value, float)
            assert other[key] == (pytest.approx(value, rel=1e-5) if close else value), key
    for name, array in single.weights.items():
        np.testing.assert_allclose(double.weights[name], array, atol=1e-6, err_msg=name)
    assert double.status["eval"] == pytest.approx(single.status["eval"], rel=1e-5)


def test_two_processes_skip_and_resume_together(lab: Lab) -> None:
    scaled = {"precision": FLOAT16, "loss_scaling": DYNAMIC}
    model = TINY["model"] | {"dropout": 0.1}
    script = lab.script("run", model=model, **scaled, **PARALLEL)
    whole = lab.launch(script, "whole", "--windows", 12)
    part = lab.launch(script, "parts", "--windows", 5)
    last = lab.launch(script, "parts", "--windows", 12, "--resume")
    assert [run.code for run in (whole, part, last)] == [0, 0, 0], last.stderr
    assert whole.trace == last.trace
    assert any(row["skipped"] for row in whole.trace)
    assert whole.trace[-1]["updates"] > 2
    for name, array in whole.weights.items():
        assert array.tobytes() == last.weights[name].tobytes(), name


def test_a_script_for_two_processes_wants_two(lab: Lab) -> None:
    script = lab.script("run", **PARALLEL)
    output = script.parent / "out"
    three = {"cluster": {"worker": ["a:1", "b:1", "c:1"]}, "task": {"type": "worker", "index": 0}}
    for env in ({}, {"TF_CONFIG": json.dumps(three)}, {"TF_CONFIG": "{"}):
        command = (sys.executable, script, *lab.flags, "--output", output)
        run = lab.end(lab.start(*command, **env), output)
        assert run.code == 2, run.stderr
        assert "made for 2 processes: start launch.sh" in run.stderr
        assert run.status["exit_code"] == 2


def test_wrong_data_ends_all_processes(lab: Lab) -> None:
    run = lab.launch(lab.script("run", **PARALLEL), "out", "--train", lab.folder / "none 1.npz")
    assert run.code == 2
    assert run.stderr.count("failed: cannot read") == 1
    assert "none 1.npz" in run.status["message"]


def worker(group: int, index: int) -> int:
    """Number of the process of a group that TF_CONFIG calls the index-th."""
    for folder in Path("/proc").glob("[0-9]*"):
        number = int(folder.name)
        try:
            if os.getpgid(number) != group or b"train.py" not in (folder / "cmdline").read_bytes():
                continue
            variables = (folder / "environ").read_bytes().split(b"\0")
        except (OSError, ProcessLookupError):
            continue
        (config,) = [v for v in variables if v.startswith(b"TF_CONFIG=")] or [b""]
        if config.endswith(f'"index": {index}}}}}'.encode()):
            return number
    raise AssertionError("no such process")


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("killed", [0, 1])
def test_the_end_of_one_process_ends_the_other(lab: Lab, killed: int) -> None:
    script = lab.script("run", schedule={"name": "constant", "total_steps": 10**6}, **PARALLEL)
    output = script.parent / "out"
    process = lab.start(script.with_name("launch.sh"), *lab.flags, "--output", output)
    trace, deadline = output / "trace.jsonl", time.monotonic() + SECONDS
    while not (trace.exists() and trace.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.5)
    os.kill(worker(process.pid, killed), signal.SIGKILL)
    since = time.monotonic()
    run = lab.end(process, output)
    assert run.code == 128 + signal.SIGKILL
    assert time.monotonic() - since < 60
    if killed:
        assert run.status["exit_code"] == 1
        assert run.status["message"] == "another process has ended, or cannot be reached"
