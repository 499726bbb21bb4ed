"""Random keys of JAX: no two layers, micro-batches or windows draw the same dropout mask."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from frameworks.emitted_script import TINY, emit, tiny_recipe
from frameworks.subprocesses import run_python
from gotchas.mutation import JAX, Mutation

pytestmark = pytest.mark.jax

MICRO_BATCHES = 2
FAULTS = (
    Mutation(35, "layers", "masks", (("jax.random.fold_in(key, number)", "key"),), JAX),
    Mutation(
        35, "micro-batches", "masks", (("(loss, rest) = jax.grad", "(loss, _) = jax.grad"),), JAX
    ),
    Mutation(35, "windows", "masks", (('7, numbers["window"])', "7, 0)"),), JAX),
)
"""What draws the same masks, and how that comes about."""


def alike(kept: np.ndarray) -> set[str]:
    """What draws the same masks; `kept` counts micro-batches by window, layer and entry."""
    shared = {
        "layers": (kept[:, 0] == kept[:, 1]).all(),
        "micro-batches": set(np.unique(kept)) <= {0, MICRO_BATCHES},
        "windows": (kept == kept[:1]).all(),
    }
    return {name for name, same in shared.items() if same}


def test_without_its_key_one_mask_is_drawn_again(tmp_path: Path) -> None:
    recipe = tiny_recipe(
        model=TINY["model"] | {"dropout": 0.1},
        batch={"micro_batch_size": 1, "global_batch_size": MICRO_BATCHES},
        optimizer={"name": "sgd", "learning_rate": 1.0},
        schedule={"name": "constant", "total_steps": 10},
    )
    folders = {
        name: emit(recipe, JAX, tmp_path / (name or "whole"), form="step")
        for name in ("", *(fault.fault for fault in FAULTS))
    }
    for fault in FAULTS:
        step = folders[fault.fault] / "step.py"
        step.write_text(fault.apply(step.read_text()))
    program = Path(__file__).with_name("run_keys.py")
    drawn = run_python(program, JAX, *folders.values())
    for name, folder in folders.items():
        kept = np.array(drawn[str(folder)])
        assert kept.min() == 0
        assert kept.max() == MICRO_BATCHES
        assert alike(kept) == ({name} if name else set()), name
