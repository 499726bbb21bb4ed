"""Trains two dropped weights with emitted JAX steps: `run_keys.py FOLDER...`, each with a step.py.

Prints by folder, for every window and each of two dropout layers, how often every entry was kept.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

# isort: split
from crosscast_parity.inside.toy_worker import import_step

WINDOWS, MICRO_BATCHES, ENTRIES, RATE = 3, 2, 64, 0.5


class Dropped(nnx.Module):  # type: ignore[misc]  # mypy does not look into Flax
    """Two weights, and a dropout layer for each."""

    def __init__(self) -> None:
        rngs = nnx.Rngs(0)
        self.weights = nnx.Param(jnp.zeros((2, ENTRIES)))
        self.first = nnx.Dropout(RATE, rngs=rngs)
        self.second = nnx.Dropout(RATE, rngs=rngs)


def loss(model: Dropped, batch: dict[str, jax.Array]) -> jax.Array:
    """The gradient of an entry is 0 where it is dropped, else a constant."""
    first, second = model.weights.get_value()
    dropped: jax.Array = model.first(first).sum() + model.second(second).sum()
    return dropped


def drive(folder: Path) -> list[Any]:
    step = import_step(folder)
    state = step.start(Dropped())
    batch = {"labels": np.zeros(1)}
    before, seen = np.zeros((2, ENTRIES)), []
    for _ in range(WINDOWS):
        step.train_window(state, [batch] * MICRO_BATCHES, loss)
        (weights,) = jax.tree.leaves(state.arrays.weights)
        # The rate is 1, and what is kept is divided by its share.
        kept = (before - np.array(weights)) * MICRO_BATCHES * (1 - RATE)
        seen.append(np.rint(kept).astype(int).tolist())
        before = np.array(weights)
    return seen


if __name__ == "__main__":
    print(json.dumps({folder: drive(Path(folder)) for folder in sys.argv[1:]}))
