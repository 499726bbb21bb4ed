"""Emitted scripts report what their trace says, to every tracker that is installed."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from frameworks.emitted_script import emit, tiny_recipe, write_rows
from frameworks.subprocesses import require, run_python, start
from tiers import Lazy, exhaustive

HERE = Path(__file__).parent
TRACKERS = ("tensorboard", "mlflow", "wandb", "trackio")
FRAMEWORKS = [
    pytest.param(name, marks=getattr(pytest.mark, name))
    for name in ("torch", "tensorflow", "paddle", "jax")
]
NAMES = ("loss", "lr", "grad_norm", "scale", "skipped", "updates")
pytestmark = exhaustive("what libraries for tracking hold after a run; skipped without them")


@dataclass(frozen=True)
class Tracked:
    """A run: its trace, and what its trackers hold."""

    trace: list[dict[str, Any]]
    status: dict[str, Any]
    read: dict[str, Any]


def installed(framework: str, tracker: str) -> bool:
    own = {"tensorboard": "tensorboardX"} if framework in ("paddle", "jax") else {}
    modules = {tracker, own.get(tracker, tracker)}  # the first is what reads
    return all(importlib.util.find_spec(name) for name in modules)


@pytest.fixture(scope="module", autouse=True)
def _offline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("trackers")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'mlflow.db'}")
        environment.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        environment.setenv("TRACKIO_DIR", str(folder / "trackio"))
        environment.setenv("HF_HUB_OFFLINE", "1")
        environment.setenv("WANDB_SILENT", "true")
        environment.delenv("WANDB_MODE", raising=False)
        yield


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Lazy[Tracked]:
    """Runs by framework; `torch crash` raises an exception after its third window."""

    def make(name: str) -> Tracked:
        framework, _, crash = name.partition(" ")
        folder = tmp_path_factory.mktemp(framework)
        project = name.replace(" ", "-")
        used = [tracker for tracker in TRACKERS if installed(framework, tracker)]
        recipe = tiny_recipe(name=project, tracking=dict.fromkeys(used, True))
        script = emit(recipe, framework, folder / framework)
        rows: list[object] = ["--train", write_rows(folder / "train.npz", 44)]
        rows += ["--eval", write_rows(folder / "eval.npz", 20, 1), "--output", folder / "out"]
        resumed = [["--windows", 3], ["--windows", 6, "--resume"]]
        parts: list[list[object]] = [["--windows", 4]] if crash else resumed
        for part in parts:
            arguments = json.dumps([str(word) for word in (*rows, *part)])
            after = 3 if crash else 0
            program = HERE / "run_tracked.py"
            code = run_python(program, framework, script, arguments, "", after, fork=False)
            assert code == (None if crash else 0)
        reader = HERE / "read_tracked.py"
        read = run_python(reader, framework, folder / "out", project, fork=False)
        lines = (folder / "out" / "trace.jsonl").read_text().splitlines()
        status = json.loads((folder / "out" / "status.json").read_text())
        return Tracked([json.loads(line) for line in lines], status, read)

    return Lazy(make)


@pytest.mark.parametrize("tracker", TRACKERS)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_trackers_hold_the_trace(runs: Lazy[Tracked], framework: str, tracker: str) -> None:
    """A run that was resumed is one run, with every window once."""
    require(framework)
    if not installed(framework, tracker):
        pytest.skip(f"the library for {tracker} is not installed")
    run = runs[framework]
    assert len(run.trace) == 6
    values, ended = run.read[tracker]["values"], run.read[tracker]["ended"]
    assert ended in (None, "FINISHED", 0)
    assert {name for name in values if name.startswith("train/")} == {
        f"train/{name}" for name in (*NAMES, "rows_per_second")
    }
    for name in NAMES:
        assert [step for step, _ in values[f"train/{name}"]] == [1, 2, 3, 4, 5, 6]
        for row, (_, value) in zip(run.trace, values[f"train/{name}"], strict=True):
            assert math.isclose(value, row[name], rel_tol=1e-6), (name, row)
    assert all(speed > 0 for _, speed in values["train/rows_per_second"])
    for name, value in run.status["eval"].items():
        assert values[f"eval/{name}"][-1][0] == 6
        assert math.isclose(values[f"eval/{name}"][-1][1], value, rel_tol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("tracker", TRACKERS)
def test_an_exception_closes_the_run(runs: Lazy[Tracked], tracker: str) -> None:
    require("torch")
    if not installed("torch", tracker):
        pytest.skip(f"the library for {tracker} is not installed")
    found = runs["torch crash"].read[tracker]
    assert found["ended"] in (None, "FAILED", 1)
    assert [step for step, _ in found["values"]["train/loss"]] == [1, 2, 3]
    assert not [name for name in found["values"] if name.startswith("eval/")]


@pytest.mark.torch
def test_a_missing_library_is_told_in_one_line(tmp_path: Path) -> None:
    script = emit(tiny_recipe(tracking={"mlflow": True}), "torch", tmp_path)
    done = start(HERE / "run_tracked.py", "torch", script, "[]", "mlflow", 0)
    assert done.returncode == 3, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("cannot run: ")
    assert line.endswith(": pip install mlflow")
