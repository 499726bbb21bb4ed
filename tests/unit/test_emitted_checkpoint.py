"""Checkpoints of emitted scripts: written by the text of `runtime/`, read by `crosscast state`."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.state.container import open_container
from crosscast.state.emitted import read_emitted
from crosscast.state.training_state import Scale
from frameworks.emitted_script import FLOAT16, tiny_recipe
from runtime_texts import checkpoint_module, settings_of

SCALE = {"scale": 512.0, "good": 0, "bad": 1}
SECTIONS: dict[str, dict[str, Any]] = {
    "float32": {},
    "float16": {"precision": FLOAT16},
    "static": {"precision": FLOAT16, "loss_scaling": {"mode": "static", "scale": 512.0}},
}
SCALES = {"float32": None, "float16": Scale(512.0, 0, 1, 2), "static": Scale(512.0, 0, 0, 2)}


def stand_in(recipe: str) -> ModuleType:
    """Return functions on a state that is made of arrays."""
    module = ModuleType("state")
    arrays = {"classifier.bias": np.ones(3, np.float32)}
    vars(module).update(
        dict.fromkeys(("TrainState", "ema_arrays", "restore_ema", "restore_model")),
        restore_optimizer=None,
        restore_scaler=None,
        model_arrays=lambda state: arrays,
        optimizer_arrays=lambda state: {f"exp_avg/{name}": a for name, a in arrays.items()},
        scaler_counters=lambda state: SCALE if recipe == "float16" else {},
    )
    return module


@pytest.mark.parametrize("recipe", SECTIONS)
def test_a_checkpoint_is_read_by_the_command(recipe: str, tmp_path: Path) -> None:
    (compiled,) = compile_recipe(tiny_recipe(**SECTIONS[recipe]), ["torch"])
    files = {path: file.text for path, file in compiled.files.items()}
    module, path = checkpoint_module(files, stand_in(recipe)), tmp_path / "c.safetensors"
    skipped = 2 if SCALES[recipe] else 0
    state = SimpleNamespace(windows=5 + skipped, updates=5)
    module.save_checkpoint(path, state, settings_of(files), 64, skipped)
    found = read_emitted(open_container(path))
    assert (found.windows, found.updates, found.rows) == (5 + skipped, 5, 64)
    assert found.scale == SCALES[recipe]
