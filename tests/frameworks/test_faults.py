"""Faults from outside: only what was named is poisoned; scripts then do as the reference does."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

from crosscast.plan import loss_scale
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import UpdateScale
from crosscast_parity.inputs.weights import bert_weights, save
from crosscast_parity.inside.inject import parse_fault
from crosscast_parity.levels.machine import check_faults, check_machine
from crosscast_parity.recordings.trace import read_trace
from frameworks.emitted_script import FLOAT16, emit, tiny_recipe, write_rows
from frameworks.fault_toys import TOYS
from frameworks.runner_runs import start_runner, train
from tiers import cases, exhaustive

FRAMEWORKS = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in TOYS]
CLEAN: tuple[dict[str, list[float]], ...] = (
    {"body.weight": [1, 2], "table.weight": [1, 1, 1, 1, 0, 0], "head.bias": [1, 1]},
    {"body.weight": [3, 4], "table.weight": [0, 0, 2, 2, 0, 0], "head.bias": [1, 1]},
)
LOSSES = (9.0, 13.0)
INF = math.inf

Rows = list[list[dict[str, list[float]]]]


def toy(folder: Path, framework: str, *faults: str) -> Rows:
    """Run a toy with faults; return loss and gradients by window and micro-batch."""
    script = folder / "train.py"
    script.write_text(TOYS[framework])
    options = [part for fault in faults for part in ("--fault", fault)]
    done = start_runner(framework, script, options)
    assert done.returncode == 0, done.stderr[-3000:]
    windows = [json.loads(line) for line in done.stdout.splitlines()[-3:]]
    return [
        [{name: list(map(float, values)) for name, values in row.items()} for row in rows]
        for rows in windows
    ]


def same(found: list[float], expected: list[float]) -> bool:
    return np.array_equal(np.array(found), np.array(expected), equal_nan=True)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_only_what_was_named_is_poisoned(tmp_path: Path, framework: str) -> None:
    rows = toy(
        tmp_path,
        framework,
        "0:0=inf@body.*",
        "0:1=-inf@*.weight",
        "1:0=nan@table.weight",
        "1:0=inf@head.bias",
        "1:1=-inf",
        "2:0=-inf@input:x",
    )
    expected: list[list[dict[str, list[float]]]] = [[dict(row) for row in CLEAN] for _ in range(3)]
    expected[0][0]["body.weight"] = [INF, INF]
    # TensorFlow's gradient of a table holds only the rows that were looked up: here the second.
    table = [-INF] * 6 if framework != "tensorflow" else [0, 0, -INF, -INF, 0, 0]
    expected[0][1] |= {"body.weight": [-INF] * 2, "table.weight": table}
    expected[1][0]["head.bias"] = [INF, INF]
    expected[2][0]["body.weight"] = [-INF, 2]
    for window, micro in ((0, 0), (0, 1), (2, 0), (2, 1)):
        for name, values in expected[window][micro].items():
            assert same(rows[window][micro][name], values), (window, micro, name)
    assert all(map(math.isnan, rows[1][0]["table.weight"][:4]))
    assert same(rows[1][0]["head.bias"], [INF, INF])
    assert same(rows[1][0]["body.weight"], [1, 2])
    assert same(rows[1][1]["head.bias"], [-INF, -INF])
    assert same(rows[1][1]["body.weight"], [-INF, -INF])
    losses = [[row["loss"][0] for row in window] for window in rows]
    assert losses[0] == list(LOSSES), "a poisoned gradient must not show in the loss"
    assert losses[1] == [LOSSES[0], -INF]
    assert losses[2] == [-INF, LOSSES[1]]
    assert "frozen" not in rows[0][0]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("0:0=inf@tail.*", "fault 0:0=inf@tail.*: no parameter has such a name"),
        ("0:0=inf@frozen", "fault 0:0=inf@frozen: no gradient has such a name"),
        ("0:0=inf@input:ids", "fault 0:0=inf@input:ids: no float input has such a name"),
    ],
)
def test_a_fault_that_poisons_nothing_is_refused(tmp_path: Path, fault: str, words: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(TOYS["torch"])
    done = start_runner("torch", script, ["--fault", fault])
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


EMULATED = {"torch": (), "tensorflow": (), "paddle": ("--emulate",)}
DYNAMIC = {
    "mode": "dynamic",
    "init_scale": 1024.0,
    "growth_interval": 2,
    "hysteresis": 2,
    "min_scale": 256.0,
    "max_scale": 2048.0,
}
FAULTS = (
    "1:0=inf@classifier.bias",  # hysteresis: the first overflow is free
    "2:1=-inf@bert.embeddings.*",
    "2:2=nan@*LayerNorm.weight",
    "3:0=nan",
    "6:0=-inf",
    "7:3=inf@bert.encoder.layer.0.*",
    "8:0=inf@*.bias",
    "8:1=-inf@*.bias",
    "9:0=inf",
    "10:0=nan@bert.pooler.dense.weight",
    "11:2=inf",
    "12:0=inf@*",
)


@pytest.mark.parametrize(
    "framework", cases(FRAMEWORKS, quick=["torch"], reason="overflows; see test_three_frameworks")
)
def test_skips_backoff_growth_and_counters_equal_the_reference(
    tmp_path: Path, framework: str
) -> None:
    recipe = tiny_recipe(precision=FLOAT16, loss_scaling=DYNAMIC)
    write_rows(tmp_path / "train.npz", 44)
    write_rows(tmp_path / "eval.npz", 10, seed=1)
    script = emit(recipe, framework, tmp_path / framework) / "train.py"
    options = [*EMULATED[framework], *(p for f in FAULTS for p in ("--fault", f))]
    run = train(framework, script, tmp_path / "out", options, ["--windows", 20])
    rows = read_trace(run.output / "trace.jsonl")
    faults = tuple(map(parse_fault, FAULTS))
    # Every third window is short: it has the micro-batches 0 to 2.
    poisoned = {f.window for f in faults if f.micro < rows[f.window].n_micro}
    assert [row.window for row in rows if row.skipped] == sorted(poisoned)
    plan = canonical_plan(recipe)
    missed = [text for f, text in zip(faults, FAULTS, strict=True) if f.window not in poisoned]
    checks = (*check_machine(plan, rows), *check_faults(faults, rows))
    words = [f"no micro-batch was met by {', '.join(missed)}"] if missed else []
    assert [check.wording for check in checks if check.result != "pass"] == words
    update = plan.find(UpdateScale)
    assert update is not None
    state = loss_scale.initial(update)
    for row in rows:
        assert row.scale == state.scale
        state = loss_scale.adjust(update, state, not row.skipped)
    with safe_open(run.output / "checkpoint.safetensors", framework="np") as file:
        counters = json.loads(file.metadata()["counters"])
    assert (counters["scale"], counters["good"], counters["bad"]) == (
        state.scale,
        state.good,
        state.bad,
    )
    scales = {row.scale for row in rows}
    assert min(scales) == 256.0, "the floor was not reached"
    assert max(scales) == 2048.0, "the ceiling was not reached"


@exhaustive("faults in half weights")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_gradients_of_half_weights_are_reached(tmp_path: Path, framework: str) -> None:
    recipe = tiny_recipe(precision=FLOAT16 | {"mode": "full"}, loss_scaling=DYNAMIC)
    write_rows(tmp_path / "train.npz", 44)
    write_rows(tmp_path / "eval.npz", 10, seed=1)
    script = emit(recipe, framework, tmp_path / framework) / "train.py"
    faults = ("1:3=nan@classifier.weight", "3:0=inf@*LayerNorm.bias")
    options = [*EMULATED[framework], *(p for f in faults for p in ("--fault", f))]
    run = train(framework, script, tmp_path / "out", options, ["--windows", 5])
    assert [row["skipped"] for row in run.trace] == [False, True, False, True, False]


@pytest.mark.parametrize(
    "framework",
    cases(FRAMEWORKS, quick=["torch"], reason="skipped windows; see the tests of steps"),
)
def test_a_skipped_window_leaves_every_weight_alone(tmp_path: Path, framework: str) -> None:
    """Also when only one small gradient of one micro-batch was poisoned."""
    recipe = tiny_recipe(precision=FLOAT16)
    write_rows(tmp_path / "train.npz", 44)
    write_rows(tmp_path / "eval.npz", 10, seed=1)
    model: Any = recipe.model
    weights = bert_weights(model, 3, 0.02)
    save(tmp_path / "weights.safetensors", weights)
    script = emit(recipe, framework, tmp_path / framework) / "train.py"
    options = [*EMULATED[framework], "--fault", "0:3=nan@classifier.bias"]
    arguments = ["--weights", tmp_path / "weights.safetensors", "--windows", 1]
    run = train(framework, script, tmp_path / "out", options, arguments)
    assert [row["skipped"] for row in run.trace] == [True]
    assert run.trace[0]["loss"] is not None
    for name, array in run.weights.items():
        assert array.tobytes() == weights[name].tobytes(), name
