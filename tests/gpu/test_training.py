"""A run on a GPU resumes to the same bits, and its steps mean what the recipe says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frameworks.emitted_script import BFLOAT16, FLOAT16, tiny_recipe
from gpu.gpu_runs import OWN, TESTS, python, rows, script, train, weights

pytestmark = pytest.mark.torch

HALF: dict[str, Any] = {
    "precision": FLOAT16,
    "loss_scaling": {"mode": "dynamic", "init_scale": 2.0**22, "growth_interval": 2},
}
RESUMED: dict[str, dict[str, Any]] = {
    "float32": {},
    "float16": HALF | {"ema": {"decay": 0.9}},
    "bfloat16": {"precision": BFLOAT16, "activation_checkpointing": True},
    "dropout": HALF | {"model": tiny_recipe().model.model_dump(mode="json") | {"dropout": 0.1}},
    "own": HALF | OWN,
}


@pytest.mark.parametrize("name", RESUMED)
def test_a_resumed_run_ends_with_the_same_bits(name: str, tmp_path: Path) -> None:
    folder = script(tiny_recipe(**RESUMED[name]), "torch", tmp_path / "script")
    train(folder, "whole", "--windows", 9)
    train(folder, "parts", "--windows", 5)
    train(folder, "parts", "--windows", 9, "--resume")
    whole_rows, part_rows = rows(folder, "whole"), rows(folder, "parts")
    assert all(row.pop("peak_memory") > 0 for row in whole_rows + part_rows)
    assert whole_rows == part_rows
    status = json.loads((folder / "whole/status.json").read_text())
    assert "cpu" not in status["device"]
    whole, parts = (weights(folder, output) for output in ("whole", "parts"))
    for key, array in whole.items():
        np.testing.assert_array_equal(array, parts[key], err_msg=key)


WAITS: dict[str, dict[str, Any]] = {
    "float32": {},
    "tokens": {"accumulation": {"normalize_by": "token"}},
    "bfloat16": {"precision": BFLOAT16},
    "dynamic": HALF | {"ema": {"decay": 0.9}},
    "static": {"precision": FLOAT16, "loss_scaling": {"mode": "static", "scale": 1024.0}},
    "hysteresis": HALF | {"loss_scaling": HALF["loss_scaling"] | {"hysteresis": 2}},
    "not-fused": HALF
    | {
        "optimizer": {"name": "sgd", "learning_rate": 1e-3},
        "overrides": {"torch": {"fused_optimizer": False}},
    },
}


def test_a_window_waits_once_for_the_gpu(tmp_path: Path) -> None:
    folders = {
        name: script(tiny_recipe(**sections), "torch", tmp_path / name)
        for name, sections in WAITS.items()
    }
    found = json.loads(python(TESTS / "gpu/run_waits.py", *folders.values(), cwd=tmp_path))
    for name, folder in folders.items():
        expected = 2 if name == "not-fused" else 1  # and one of the framework's own
        assert [len(waits) for waits in found[str(folder)]] == [expected] * 3, (name, found)


TARGETS = "torch,torch@torch.cuda.amp,torch@torch.cuda.amp-1.6"


def test_steps_on_a_gpu_do_what_the_reference_does(tmp_path: Path) -> None:
    arguments = ("--device", "gpu", "--targets", TARGETS, "--examples", 150)
    said = python("-m", "fuzz.run", *arguments, cwd=tmp_path)
    assert said.count("0 mismatches") >= 3, said


SMALL = """
version: 1
name: on-a-gpu
model: {kind: bert, preset: tiny, labels: 3, dropout: 0.0}
data: {source: synthetic}
batch: {micro_batch_size: 8, global_batch_size: 32}
clipping: {kind: global_norm, max_norm: 1.0}
optimizer: {name: adamw, learning_rate: 1e-3, weight_decay: 0.01}
schedule: {name: linear, warmup_ratio: 0.1, total_steps: 100}
"""
PRECISION = "precision: {{mode: mixed, compute_dtype: {dtype}}}"


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_compiled_model_trains_equivalently(dtype: str, tmp_path: Path) -> None:
    half = "precision: {mode: none}" if dtype == "float32" else PRECISION.format(dtype=dtype)
    (tmp_path / "recipe.yaml").write_text(SMALL + half)
    (tmp_path / "compiled.yaml").write_text(
        SMALL + half + "\noverrides: {torch: {compile: true}}\n"
    )
    command = [sys.executable, "-m", "crosscast", "parity", "recipe.yaml", "-o", "out"]
    command += ["--to", "torch", "--add", "compiled=torch,recipe=compiled.yaml"]
    command += ["--device", "gpu", "--half", "native", "--jobs", "8"]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False
    )
    print(done.stdout[-6000:])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "EQUIVALENT" in done.stdout
