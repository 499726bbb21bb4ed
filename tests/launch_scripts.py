"""Recipes that the classic Paddle scripts can express, and their run.sh driving a stand-in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.output import write_files
from crosscast.recipe.document import Recipe
from recipe_texts import FLOAT16, recipe_of

STAND_IN = Path(__file__).parent / "probes" / "paddle" / "stand_in.py"
FLAGS: dict[str, dict[str, tuple[str, Any]]] = json.loads(
    STAND_IN.with_name("script_flags.json").read_text()
)
SCRIPTS = ("lark", "ernie", "models-bert")
RULE = "hysteresis: 2, growth_interval: 1000, growth_factor: 2.0, backoff_factor: 0.8"
DYNAMIC = f"{{mode: dynamic, {RULE}}}"
HALF = {"precision": FLOAT16, "loss_scaling": DYNAMIC}
FITTING = {
    "model": "{kind: bert, preset: base, labels: 3, dropout: 0.1, layer_norm_eps: 1e-5}",
    "data": "{source: npz, train: a.npz, eval: b.npz, sequence_length: 128}",
    "batch": "{micro_batch_size: 32}",
    "accumulation": "{steps: 1, tail: carry}",
    "clipping": "{kind: global_norm, max_norm: 1.0, eps: 0.0}",
    "optimizer": (
        "{name: adamw, learning_rate: 5e-5, weight_decay: 0.01, eps_placement: before_correction}"
    ),
    "schedule": (
        "{name: linear, decay_from: start, warmup_ratio: 0.1, total_steps: 1000, tick: attempt}"
    ),
}
"""A recipe in float32 that all three scripts can express."""
ROWS = "32000"
"""Training rows that make `FITTING` one epoch."""


def fitting(**changes: str | None) -> Recipe:
    """Return the recipe that fits, with changes."""
    return recipe_of(**(FITTING | changes))


def emitted(recipe: Recipe, script: str) -> dict[str, str]:
    """Return the emitted files of a recipe."""
    (compiled,) = compile_recipe(recipe, [f"paddle@{script}"])
    return {path: file.text for path, file in compiled.files.items()}


def start(
    folder: Path, recipe: Recipe, script: str, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Write run.sh to a folder and run it with the stand-in and other variables."""
    (compiled,) = compile_recipe(recipe, [f"paddle@{script}"])
    write_files(folder, compiled.files, manifest=False, force=True)
    given = {"PYTHON": sys.executable, "SCRIPT": str(STAND_IN), "STAND_IN": script}
    given |= {"PATH": os.environ["PATH"], "TRAIN_ROWS": ROWS}
    return subprocess.run(
        [str(folder / "run.sh"), *arguments],
        env={name: value for name, value in (given | variables).items() if value},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def values(
    folder: Path, recipe: Recipe, script: str, *arguments: str, **variables: str
) -> dict[str, Any]:
    """Return the values that the stand-in ends with; run.sh has nothing to say about them."""
    done = start(folder, recipe, script, *arguments, **variables)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
