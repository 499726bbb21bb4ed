"""Tiny recipes, the scripts they compile to, and rows to train on."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.output import write_files
from crosscast.recipe.document import Recipe
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import document_of
from crosscast.targets.backend import Form

TINY: dict[str, Any] = {
    "version": 1,
    "name": "tiny",
    "seed": 7,
    "model": {
        "kind": "bert",
        "layers": 1,
        "hidden_size": 32,
        "attention_heads": 2,
        "intermediate_size": 64,
        "vocab_size": 128,
        "max_positions": 16,
        "labels": 3,
        "dropout": 0.0,
    },
    "data": {"source": "npz", "train": "train.npz", "eval": "eval.npz", "sequence_length": 8},
    "batch": {"micro_batch_size": 4, "global_batch_size": 16},
    "optimizer": {"name": "adamw", "learning_rate": 1e-3},
    "schedule": {"name": "linear", "warmup_steps": 3, "total_steps": 20},
}
FLOAT16 = {"mode": "mixed", "compute_dtype": "float16"}
BFLOAT16 = {"mode": "mixed", "compute_dtype": "bfloat16"}


def tiny_recipe(**sections: Any) -> Recipe:
    """A small valid recipe; `sections` replace whole sections."""
    return _built(json.dumps(TINY | sections))


@cache
def _built(text: str) -> Recipe:
    return build_recipe(document_of(json.loads(text), "test"))


def emit(recipe: Recipe, target: str, folder: Path, form: Form = "script") -> Path:
    """Write a target's files and return their folder."""
    (compiled,) = compile_recipe(recipe, [target], form=form)
    write_files(folder, compiled.files, force=True)
    return folder


def write_rows(path: Path, rows: int, seed: int = 0) -> Path:
    """Write tokenised rows that the tiny model can learn something from."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(4, 128, (rows, 8)).astype(np.int32)
    lengths = rng.integers(3, 9, (rows, 1))
    np.savez(
        path,
        input_ids=ids,
        attention_mask=(np.arange(8) < lengths).astype(np.int32),
        token_type_ids=(np.arange(8) > 3).astype(np.int32) * np.ones((rows, 1), np.int32),
        labels=ids[:, 0] % 3,
    )
    return path
