"""Emitted static graphs of fleet, in the Paddle 2.6 that CROSSCAST_PADDLE_2_6 names."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.loss_scale import adjust, initial
from crosscast.plan.operations import UpdateScale
from crosscast.recipe.document import BertModel
from crosscast_parity.inputs.weights import bert_weights, save
from frameworks.emitted_script import FLOAT16, TINY, emit, tiny_recipe, write_rows
from frameworks.script_runs import Run, calls
from frameworks.subprocesses import paddle_2, run_python, start

pytestmark = pytest.mark.paddle

EACH = pytest.mark.parametrize("target", paddle_2())
PROGRAM = Path(__file__).with_name("run_fleet.py")
ROWS = 40  # two windows of 16 rows and one of 8 an epoch
DYNAMIC = {
    "mode": "dynamic",
    "init_scale": 1024.0,
    "growth_interval": 1,
    "hysteresis": 2,
    "min_scale": 256.0,
    "max_scale": 4096.0,
}
HALF = {"precision": FLOAT16, "loss_scaling": DYNAMIC}
FAULTS = {"1:0": 0.0, "3:1": "nan", "4:3": 0.0, "5:0": 0.0, "5:2": "nan", "9:0": 0.0}
OVERFLOWED = {1, 3, 4, 5, 9}
SECTIONS: list[dict[str, Any]] = [
    {"optimizer": {"name": "adamw", "learning_rate": 1e-3, "no_decay": ["bias", "layer_norm"]}},
    {
        "optimizer": {"name": "adam", "learning_rate": 1e-3, "weight_decay": 0.1},
        "accumulation": {"steps": 4, "tail": "flush"},
        "clipping": {"kind": "global_norm", "max_norm": 0.1},
    },
    {
        "optimizer": {
            "name": "sgd",
            "learning_rate": 0.1,
            "momentum": 0.9,
            "nesterov": True,
            "weight_decay": 0.01,
        },
        "accumulation": {"steps": 4, "tail": "carry", "normalize_by": "microbatch"},
        "clipping": {"kind": "value", "max_value": 0.01},
        "schedule": {"name": "cosine", "warmup_steps": 2, "total_steps": 20},
    },
    {
        "optimizer": {"name": "sgd", "learning_rate": 0.1},
        "accumulation": {"steps": 1},
        "batch": {"micro_batch_size": 16},
        "clipping": {"kind": "global_norm", "max_norm": 0.05, "eps": 0.0},
    },
]


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., Path]:
    """Return the script of a recipe, for fleet or another target, beside its rows."""

    def make(target: str = "paddle@fleet", **sections: Any) -> Path:
        folder = emit(tiny_recipe(**sections), target, tmp_path / target)
        return folder / "train.py"

    write_rows(tmp_path / "train.npz", ROWS)
    write_rows(tmp_path / "eval.npz", 12, seed=1)
    return make


def flags(script: Path, *more: object) -> list[object]:
    folder = script.parent.parent
    data = ("--train", folder / "train.npz", "--eval", folder / "eval.npz", "--device", "cpu")
    return [*data, *more]


def ran(
    script: Path, target: str, name: str, *more: object, faults: dict[str, Any] | None = None
) -> tuple[Run, list[bool]]:
    """Run a script in a process of its own; return what it left and which windows moved it."""
    output = script.parent / name
    found = run_python(
        PROGRAM, target, script, json.dumps(faults or {}), *flags(script, "--output", output, *more)
    )
    return Run(output, found["code"], "", ""), found["changed"]


def near(left: Run, right: Run, tolerance: float) -> None:
    """Check that two runs trained the same."""
    assert len(left.trace) == len(right.trace) == 12
    for mine, other in zip(left.trace, right.trace, strict=True):
        assert mine.keys() == other.keys()
        for key in ("window", "n_micro", "rows", "lr", "scale", "skipped", "updates"):
            assert mine[key] == other[key], key
        for key in ("loss", "grad_norm"):
            assert mine[key] == pytest.approx(other[key], rel=1e-4, abs=1e-6)
    assert left.weights.keys() == right.weights.keys()
    for name, weight in left.weights.items():
        # The gradient of a key's bias is rounding alone, which Adam makes large.
        if not name.endswith("key.bias"):
            np.testing.assert_allclose(weight, right.weights[name], atol=tolerance, err_msg=name)
    assert left.status["eval"] == pytest.approx(right.status["eval"], rel=1e-4)


@EACH
@pytest.mark.parametrize("sections", SECTIONS, ids=["adamw", "adam", "nesterov", "sgd"])
def test_a_static_graph_trains_as_the_dynamic_one(
    script: Callable[..., Path], target: str, sections: dict[str, Any], tmp_path: Path
) -> None:
    static, dynamic = script(**sections), script(target, **sections)
    model = tiny_recipe().model
    assert isinstance(model, BertModel)
    save(tmp_path / "start.safetensors", bert_weights(model, seed=3, style="stress"))
    given = ("--weights", tmp_path / "start.safetensors", "--windows", 12)
    mine, changed = ran(static, target, "out", *given)
    (other,) = calls(dynamic, target, [(tmp_path / "other", flags(dynamic, *given))])
    assert (mine.code, other.code) == (0, 0), other.stderr
    assert changed[1:] == [True] * 11
    near(mine, other, 1e-5)


@EACH
def test_an_overflow_skips_the_window_and_the_scale_is_the_neutral_one(
    script: Callable[..., Path], target: str
) -> None:
    static = script(**HALF)
    run, changed = ran(static, target, "out", "--windows", 12, faults=FAULTS)
    assert run.code == 0
    op = canonical_plan(tiny_recipe(**HALF)).find(UpdateScale)
    assert op is not None
    state, updates = initial(op), 0
    for row, moved in zip(run.trace, changed, strict=True):
        overflow = row["window"] in OVERFLOWED
        assert (row["scale"], row["skipped"]) == (state.scale, overflow)
        # The first update of the warm-up has the rate 0, and moves the moments all the same.
        assert moved is not overflow
        assert (row["grad_norm"] is None) is overflow
        updates += not overflow
        assert row["updates"] == updates
        state = adjust(op, state, finite=not overflow)
    assert len({row["scale"] for row in run.trace}) > 2


@EACH
def test_a_constant_scale_skips_and_stays(script: Callable[..., Path], target: str) -> None:
    half = {"precision": FLOAT16, "loss_scaling": {"mode": "static", "scale": 512.0}}
    run, changed = ran(script(**half), target, "out", "--windows", 12, faults=FAULTS)
    assert {row["scale"] for row in run.trace} == {512.0}
    assert {row["window"] for row in run.trace if row["skipped"]} == OVERFLOWED
    assert [not moved for moved in changed] == [index in OVERFLOWED for index in range(12)]


@EACH
def test_scaling_by_a_power_of_two_changes_nothing(
    script: Callable[..., Path], target: str
) -> None:
    plain, _ = ran(script(), target, "plain", "--windows", 12)
    calm = DYNAMIC | {"growth_interval": 1000}
    scaled, _ = ran(script(precision=FLOAT16, loss_scaling=calm), target, "scaled", "--windows", 12)
    assert {row["scale"] for row in scaled.trace} == {1024.0}
    for name, weight in plain.weights.items():
        np.testing.assert_allclose(weight, scaled.weights[name], atol=1e-6, err_msg=name)


@EACH
def test_a_run_goes_on_from_its_checkpoint(script: Callable[..., Path], target: str) -> None:
    static = script(model=TINY["model"] | {"dropout": 0.1}, **HALF)
    whole, _ = ran(static, target, "whole", "--windows", 12, faults=FAULTS)
    ran(static, target, "parts", "--windows", 7, faults=FAULTS)
    parts, _ = ran(static, target, "parts", "--windows", 12, "--resume", faults=FAULTS)
    assert whole.trace == parts.trace
    for name, weight in whole.weights.items():
        np.testing.assert_array_equal(weight, parts.weights[name])
    assert whole.status["eval"] == parts.status["eval"]


@EACH
def test_only_matrix_products_are_half(script: Callable[..., Path], target: str) -> None:
    static = script(model=TINY["model"] | {"dropout": 0.1}, **HALF)
    half = run_python(PROGRAM.with_name("run_fleet_types.py"), target, static)
    assert half == ["cast", "matmul_v2", "matmul_v2_grad"]


@EACH
def test_without_a_gpu_half_is_refused(script: Callable[..., Path], target: str) -> None:
    static = script(**HALF)
    done: subprocess.CompletedProcess[str] = start(
        static, target, *flags(static, "--output", static.parent / "out")
    )
    assert done.returncode == 3
    assert "AMP is not native on CPU" in done.stderr
