"""The emitted PyTorch script from end to end: what a run writes, skips, resumes and stops."""

from __future__ import annotations

import json
import math
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.plan import loss_scale
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import UpdateScale
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel
from crosscast_parity.inputs.weights import bert_weights, save
from frameworks import bert_oracle
from frameworks.emitted_script import TINY, tiny_recipe
from frameworks.script_runs import Run
from frameworks.subprocesses import warm
from frameworks.torch_lab import DROPOUT, DYNAMIC, HALF, SCALED, SGD, Lab
from tiers import cases, exhaustive

pytestmark = pytest.mark.torch

ROW = ["window", "n_micro", "rows", "loss", "lr", "grad_norm", "scale", "skipped", "updates"]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def same(run: Run, other: Run) -> None:
    """Check that two runs came to the same, bit by bit."""
    assert run.trace == other.trace
    assert run.weights.keys() == other.weights.keys()
    for name, array in run.weights.items():
        assert array.tobytes() == other.weights[name].tobytes(), name
    assert run.status["eval"] == other.status["eval"]


def test_a_run_leaves_trace_weights_and_status(lab: Lab) -> None:
    recipe = tiny_recipe()
    assert isinstance(recipe.model, BertModel)
    start = bert_weights(recipe.model, 3, 0.02)
    save(lab.folder / "start.safetensors", start)
    script = lab.script("run")
    (run,) = lab.ended(script, ("out", "--weights", lab.folder / "start.safetensors"))
    rows, status = run.trace, run.status
    assert all(sorted(row) == sorted(ROW) for row in rows)
    assert [row["window"] for row in rows] == list(range(20))
    assert [(row["rows"], row["n_micro"]) for row in rows[:4]] == [
        (16, 4),
        (16, 4),
        (12, 3),
        (16, 4),
    ]
    assert {(row["scale"], row["skipped"]) for row in rows} == {(1.0, False)}
    assert [row["updates"] for row in rows] == list(range(1, 21))
    assert {n: a.shape for n, a in run.weights.items()} == bert_shapes(recipe.model)
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert status.pop("eval").keys() == {"loss", "accuracy"}
    assert status.pop("versions").keys() == {"torch", "numpy"}
    assert status == {
        "status": "finished",
        "exit_code": 0,
        "message": "",
        "windows": 20,
        "updates": 20,
        "device": "cpu",
    }
    with np.load(lab.train, allow_pickle=False) as file:
        order = np.random.default_rng([recipe.seed, 0]).permutation(44)[:16]
        first = {name: file[name][order] for name in file.files}
    logits = bert_oracle.logits(start, first, layers=recipe.model.layers, heads=2, eps=1e-12)
    assert rows[0]["loss"] == pytest.approx(
        bert_oracle.cross_entropy(logits, first["labels"]), 1e-6
    )


TOO_HIGH: dict[str, dict[str, Any]] = {
    "stock": {},
    "hysteresis": {"hysteresis": 2, "max_scale": 2.0**25},
    "odd": {"growth_factor": 1.5, "backoff_factor": 0.7, "growth_interval": 2},
    "floor": {"min_scale": 2.0**21, "init_scale": 2.0**22},
    "unbounded": {"min_scale": None},
    "ceiling": {"min_scale": None, "max_scale": 2.0**25},
}


@pytest.mark.parametrize(
    "name", cases(TOO_HIGH, quick=["hysteresis"], reason="more settings of a scale")
)
def test_a_loss_scale_that_starts_too_high(lab: Lab, name: str) -> None:
    scaling_fields = TOO_HIGH[name]
    sections = SCALED | {"loss_scaling": DYNAMIC | scaling_fields}
    (run,) = lab.ended(lab.script("run", **sections), ("out",))
    rows, floored = run.trace, bool(scaling_fields.get("min_scale"))
    assert rows[0]["skipped"]
    assert rows[0]["grad_norm"] is None
    assert rows[0]["loss"] == pytest.approx(math.log(3), rel=0.1)  # the loss itself is finite
    assert (rows[-1]["updates"] == 0) == floored
    machine = canonical_plan(tiny_recipe(**sections)).find(UpdateScale)
    assert machine is not None
    state = loss_scale.initial(machine)
    for row in rows:
        assert row["scale"] == state.scale
        state = loss_scale.adjust(machine, state, finite=not row["skipped"])
    assert run.status["updates"] == sum(not row["skipped"] for row in rows)


@exhaustive("bfloat16; `make test` has its steps in test_steps")
def test_bfloat16_trains(lab: Lab) -> None:
    (run,) = lab.ended(lab.script("run", **HALF), ("out",))
    rows = run.trace
    assert not any(row["skipped"] for row in rows)
    assert rows[-1]["loss"] < rows[0]["loss"]


RESUMED: dict[str, dict[str, Any]] = {
    "adamw with dropout": {"model": DROPOUT},
    "in a skip streak": {
        "model": DROPOUT,
        **SCALED,
        "loss_scaling": DYNAMIC | {"hysteresis": 2, "growth_interval": 2},
        "accumulation": {"tail": "carry"},
    },
    "momentum": {
        **SCALED,
        "optimizer": SGD | {"momentum": 0.9},
        "schedule": {"name": "cosine", "total_steps": 15, "tick": "attempt"},
        "data": TINY["data"] | {"shuffle": False},
    },
    "static": {**SCALED, "loss_scaling": {"mode": "static", "scale": 512.0}},
}


@pytest.mark.parametrize(
    "name", cases(RESUMED, quick=["in a skip streak"], reason="resuming with more recipes")
)
def test_resuming_changes_nothing(lab: Lab, name: str) -> None:
    script = lab.script("run", **RESUMED[name])
    whole, *_, last = lab.ended(
        script,
        ("whole", "--windows", 14),
        ("parts", "--windows", 5),
        ("parts", "--windows", 8, "--resume", "--checkpoint-every", 2),
        ("parts", "--windows", 14, "--resume"),
    )
    if name == "in a skip streak":
        assert [row["skipped"] for row in whole.trace][3:7] == [True] * 4
    same(whole, last)


@exhaustive("a trace that is cut back; `make test` has test_damaged_files")
def test_resuming_before_the_end_of_the_trace_cuts_it_back(lab: Lab) -> None:
    script = lab.script("run")
    whole, part = lab.ended(script, ("whole", "--windows", 9), ("parts", "--windows", 5))
    with (part.output / "trace.jsonl").open("a") as trace:
        trace.write(json.dumps(part.trace[-1] | {"window": 5}) + "\n")
    (resumed,) = lab.ended(script, ("parts", "--windows", 9, "--resume"))
    same(whole, resumed)
    (again,) = lab.ended(script, ("parts", "--windows", 9, "--resume"))
    same(whole, again)


def test_a_scale_that_collapses_ends_the_run(lab: Lab) -> None:
    sections = {**SCALED, "loss_scaling": DYNAMIC | {"init_scale": 2.0**41, "min_scale": 2.0**40}}
    sections["schedule"] = {"name": "constant", "total_steps": 60}
    script = lab.script("run", **sections)
    whole, _, parts = lab.main(
        script, ("whole",), ("parts", "--windows", 10), ("parts", "--resume")
    )
    assert (whole.code, whole.traceback) == (1, "")
    assert (whole.status["status"], whole.status["exit_code"]) == ("stopped", 1)
    assert "25 windows were skipped" in whole.stderr
    assert whole.status["message"] in whole.stderr
    assert [row["window"] for row in whole.trace] == list(range(26))
    assert (whole.status["windows"], whole.status["updates"]) == (26, 0)
    assert whole.status["eval"] is None
    assert parts.code == 1  # a break does not restart the count
    assert parts.trace == whole.trace


def test_a_scale_without_a_lowest_value_ends_the_run_before_it_is_0(lab: Lab) -> None:
    """At 0 the gradients of a finite loss are 0, and unscaled nan, which no scaler finds."""
    scaling = DYNAMIC | {"min_scale": None, "backoff_factor": 2.0**-16, "init_scale": 2.0**10}
    sections = {**SCALED, "loss_scaling": scaling, "optimizer": SGD | {"learning_rate": 2.0**32}}
    script = lab.script("run", **sections)
    whole, _, parts = lab.main(script, ("whole",), ("parts", "--windows", 6), ("parts", "--resume"))
    assert (whole.code, whole.traceback) == (1, "")
    assert whole.status["status"] == "stopped"
    assert "the loss scale has fallen to" in whole.stderr
    scales = [row["scale"] for row in whole.trace]
    assert min(scales[:-1]) >= 2.0**-126 > scales[-1] > 0
    machine = canonical_plan(tiny_recipe(**sections)).find(UpdateScale)
    assert machine is not None
    state = loss_scale.initial(machine)
    for row in whole.trace:
        assert row["scale"] == state.scale
        state = loss_scale.adjust(machine, state, finite=not row["skipped"])
    assert (parts.code, parts.trace) == (1, whole.trace)


def test_a_loss_that_is_not_finite_ends_the_run(lab: Lab) -> None:
    script = lab.script("run", optimizer=SGD | {"learning_rate": 2.0**32, "momentum": 0.99})
    (run,) = lab.main(script, ("out",))
    assert (run.code, run.traceback) == (1, "")
    assert run.status["status"] == "stopped"
    assert "not finite" in run.stderr
    assert run.trace[-1]["loss"] is None
    assert run.status["windows"] == len(run.trace)


def test_an_interrupted_run_can_go_on(lab: Lab) -> None:
    script = lab.script("run", model=DROPOUT)
    flags = (*lab.flags, "--threads", 1, "--checkpoint-every", 1, "--log-every", 1)
    output = lab.folder / "run" / "broken"
    process = lab.popen(
        warm("torch"), script, *flags, "--windows", 10**6, "--output", output, PYTHONUNBUFFERED="1"
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    assert all(line.startswith("window ") for line in lines), lines
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    status = json.loads((output / "status.json").read_text())
    assert (status["status"], status["exit_code"]) == ("stopped", 130)
    done = status["windows"]
    assert done >= 3
    words = f"stopped: interrupted: --resume goes on after {done} windows\n"
    assert (process.returncode, stderr) == (130, words)
    whole, resumed = lab.ended(
        script, ("whole", "--windows", done + 3), ("broken", "--windows", done + 3, "--resume")
    )
    same(whole, resumed)


@exhaustive("a launch script and --help; `make test` has test_paddle_launch")
def test_progress_and_help(lab: Lab) -> None:
    script = lab.script("run")
    shown = lab.shell(warm("torch"), script, "--help")
    assert shown.returncode == 0
    for flag in ("--train", "--eval", "--weights", "--output", "--resume", "--windows"):
        assert f"  {flag}" in shown.stdout
    launch = script.with_name("launch.sh")
    started = time.time()
    done = lab.shell(launch, *lab.flags, "--windows", 3, "--log-every", 2, "--output", lab.folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines[:2]] == ["window 2/3", "window 3/3"]
    assert lines[2].startswith("finished: {")
    assert (lab.folder / "status.json").stat().st_mtime >= started - 1
