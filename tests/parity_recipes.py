"""Recipes for the tests of parity."""

from __future__ import annotations

from typing import Any

from crosscast.recipe.document import Recipe
from crosscast.recipe.versions import upgraded
from crosscast_parity.recipes.derived import changed
from crosscast_parity.recipes.stress import stress_recipe

PLAIN: dict[str, Any] = {
    "version": 1,
    "name": "parity",
    "seed": 7,
    "model": {
        "kind": "bert",
        "layers": 4,
        "hidden_size": 512,
        "attention_heads": 8,
        "intermediate_size": 2048,
        "labels": 3,
        "dropout": 0.0,
    },
    "data": {"source": "synthetic", "sequence_length": 128, "train_rows": 4096},
    "batch": {"micro_batch_size": 8, "global_batch_size": 32},
    "precision": {"mode": "mixed", "compute_dtype": "float16"},
    "loss_scaling": {"mode": "dynamic"},
    "accumulation": {"steps": 4},
    "clipping": {"kind": "global_norm", "max_norm": 1.0},
    "optimizer": {"name": "adamw", "learning_rate": 5e-5},
    "schedule": {"name": "linear", "total_steps": 1000, "warmup_steps": 100},
}


def plain(**changes: Any) -> Recipe:
    """A usual recipe; dots are double underscores."""
    paths = {path.replace("__", "."): value for path, value in changes.items()}
    return changed(Recipe.model_validate(upgraded(PLAIN)), paths)


def stress(**changes: Any) -> Recipe:
    """Its stress recipe."""
    return stress_recipe(plain(**changes))[0]
