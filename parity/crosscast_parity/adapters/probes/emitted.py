"""The emitted scripts on the neutral cases: compiled for the case, with the toy as their model.

Their own `batches` and `train_window` run; only the loss, a cross-entropy, is the toy's instead.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.output import write_files
from crosscast.recipe.load import load
from crosscast_parity.adapters.cases import Case, Seen
from crosscast_parity.inside.emitted import batches, offered, part_of
from crosscast_parity.inside.script import load_script as load_path

RECIPE = """
version: 1
name: toy
model: {{kind: custom, factory: {{{target}: "toy:build_model"}}}}
data: {{source: npz, train: train.npz, eval: eval.npz, shuffle: false}}
batch: {{micro_batch_size: {micro}, global_batch_size: {window}}}
precision: {{{precision}}}
loss_scaling: {{{scaling}}}
accumulation: {{steps: {steps}, normalize_by: sample}}
clipping: {{{clipping}}}
optimizer: {{name: {optimizer}, learning_rate: 1.0{decay}}}
schedule: {{{schedule}}}
"""


def recipe_text(case: Case, target: str) -> str:
    """Return a case as a recipe."""
    half, clip = case.scale is not None, case.clip
    dynamic = f"mode: dynamic, init_scale: {case.scale}, growth_interval: {case.interval}"
    falling = f"name: linear, total_steps: {case.total}"
    return RECIPE.format(
        target=target,
        micro=case.micro,
        steps=case.steps,
        window=case.micro * case.steps,
        precision="mode: mixed, compute_dtype: float16" if half else "mode: none",
        scaling=dynamic if half else "mode: none",
        clipping="kind: none" if clip is None else f"kind: global_norm, max_norm: {clip}",
        optimizer=case.optimizer,
        decay=", weight_decay: 0.0" if case.optimizer == "adamw" else "",
        schedule="name: constant, total_steps: 100" if case.total is None else falling,
    )


SCRIPTS = tempfile.TemporaryDirectory()
"""Until the process ends: TensorFlow reads the source of a function when it traces it."""


def load_script(case: Case, target: str, build_model: Callable[[], Any]) -> ModuleType:
    """Compile a case and import its train.py."""
    folder = Path(SCRIPTS.name) / case.name
    folder.mkdir()
    (folder / "recipe.yaml").write_text(recipe_text(case, target))
    (compiled,) = compile_recipe(load(str(folder / "recipe.yaml")), [target])
    write_files(folder, compiled.files)
    script = folder / "train.py"
    toy = ModuleType("toy")
    toy.__dict__["build_model"] = build_model
    sys.modules["toy"] = toy
    return load_path(script)


def train(
    case: Case,
    module: ModuleType,
    state: Any,
    loss: Callable[[Any, Any], Any],
    look: Callable[[], tuple[float, list[float]]],
) -> Seen:
    """Train the toy with the script's own windows; what they do inside cannot be seen.

    Args:
        case: the case.
        module: the script.
        state: its state.
        loss: summed loss of a micro-batch of the model.
        look: returns the weight and the optimizer's slots.
    """
    rows = {"rows": np.array(case.rows, np.float32), "labels": np.zeros(len(case.rows), np.int32)}
    runner = part_of(module, "run")
    assert runner is not None  # every emitted script has one
    run = runner.Run(module.SETTINGS, None)
    windows = batches(offered(module, "row_numbers"), rows, module.SETTINGS)
    seen = Seen.nothing()
    weight, slots = look()
    for _ in range(case.windows * case.epochs):
        micro_batches = next(windows)
        row = module.train_window(state, micro_batches, loss)
        scale = None if case.scale is None else row["scale"]
        for _ in micro_batches[1:]:
            seen.add(weight, scale, slots)
        weight, slots = look()
        after = None if scale is None else offered(module, "scaler_counters")(state)["scale"]
        seen.add(weight, after, slots)
        try:
            run.stop_if_hopeless(state, row)
        except runner.Stop:
            break
    seen.counter = state.updates
    return seen
