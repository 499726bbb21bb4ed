"""An emitted script waits for the device once a window, to fetch the row of the trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.emitted_script import BFLOAT16, FLOAT16, emit, tiny_recipe, write_rows
from frameworks.subprocesses import run_python

DYNAMIC = {"mode": "dynamic", "init_scale": 1024.0, "growth_interval": 2}
HALF = {"precision": FLOAT16, "loss_scaling": DYNAMIC}
NOT_FUSED = {
    "optimizer": {"name": "sgd", "learning_rate": 1e-3},
    "overrides": {"torch": {"fused_optimizer": False}},
}
CASES: dict[str, dict[str, Any]] = {
    "float32": {},
    "tokens": {"accumulation": {"normalize_by": "token"}},
    "bfloat16": {"precision": BFLOAT16},
    "dynamic": HALF | {"ema": {"decay": 0.9}},
    "bounds": HALF | {"loss_scaling": DYNAMIC | {"min_scale": 1024.0, "max_scale": 2048.0}},
    "not-fused": HALF | NOT_FUSED,
    "static": {"precision": FLOAT16, "loss_scaling": {"mode": "static", "scale": 1024.0}},
    "hysteresis": HALF | {"loss_scaling": DYNAMIC | {"hysteresis": 2}},
}
STEPS = {
    # A scaler reads whether to skip a step; fused optimizers of PyTorch leave that to the kernel.
    "torch": {"not-fused": 1},
    "paddle": dict.fromkeys(("dynamic", "bounds", "not-fused", "static", "hysteresis"), 1),
}
"""What the framework's own step reads in a window, where it reads anything."""


@pytest.mark.parametrize(
    "framework", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in STEPS]
)
def test_one_fetch_a_window(framework: str, tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in CASES}
    for name, folder in folders.items():
        emit(tiny_recipe(**CASES[name]), framework, folder)
        write_rows(folder / "train.npz", 64)
        write_rows(folder / "eval.npz", 12)
    program = Path(__file__).with_name("run_fetches.py")
    found = run_python(program, framework, framework, *folders.values())
    for name, folder in folders.items():
        reads = found[str(folder)]
        assert reads["windows"] == [1, 1, 1], name
        assert set(reads["evaluation"]) == {1}, name
        assert set(reads["steps"]) == {STEPS[framework].get(name, 0)}, name
