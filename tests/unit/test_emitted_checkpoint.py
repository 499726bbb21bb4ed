"""Checkpoints of emitted scripts: written by the text of `runtime/`, read by `crosscast state`."""

from __future__ import annotations

import ast
import contextlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.state.container import open_container
from crosscast.state.emitted import read_emitted
from crosscast.state.training_state import Scale
from emission_bases import TARGETS
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


def loss_scale_of(files: dict[str, str], **values: Any) -> Any:
    """Return the loss scale of an emitted script, without the rest of the script."""
    wanted: list[ast.stmt] = []
    for node in ast.parse(files["train.py"]).body:
        match node:
            case ast.Assign(targets=[ast.Name()], value=ast.Constant()):
                wanted.append(node)
            case ast.ClassDef(name="LossScale"):
                wanted.append(node)
    space: dict[str, Any] = {"dataclass": dataclass}
    exec(compile(ast.Module(wanted, []), "train.py", "exec"), space)
    return space["LossScale"](**values)


DYNAMIC = {"mode": "dynamic", "hysteresis": 2, "growth_interval": 2000}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("counters", "possible"),
    [
        ({"updates": 3000, "good": 1999}, True),
        ({"updates": 3000, "good": 3000}, None),  # only where an option may set the interval
        ({"updates": 2995, "good": 5, "bad": 5}, None),
        ({"updates": 2995, "good": 5, "stuck": 5}, None),  # and where the scale may be constant
        ({"updates": 2995, "good": 2996}, False),
        ({"updates": 2995, "bad": 6}, False),
        ({"updates": 2995, "stuck": 6}, False),
    ],
)
def test_counters_are_possible_with_every_command_line(
    target: str, counters: dict[str, int], possible: bool | None
) -> None:
    recipe = tiny_recipe(precision=FLOAT16, loss_scaling=DYNAMIC)
    (compiled,) = compile_recipe(recipe, [target])
    files = {path: file.text for path, file in compiled.files.items()}
    module = checkpoint_module(files, stand_in("float16"))
    options = "--incr_every_n_steps" in files["train.py"]
    if possible is None:
        possible = options
    values = {"growth_interval": 7, "hysteresis": 1} if options else {}
    state = SimpleNamespace(loss_scale=loss_scale_of(files, **values))
    whole = {"windows": 3000, "good": 0, "bad": 0, "stuck": 0} | counters
    refused = contextlib.nullcontext() if possible else pytest.raises(module.Stop, match="damaged")
    with refused:
        module.check_counters(Path("c"), whole, state, settings_of(files), 5000)
