"""A toy whose gradients are known, for driving emitted step.py files against the reference.

Every parameter w has a given array x in the batch and adds the sum of w*x to the loss, so that x is
its gradient. The parameter `embeddings` is looked up at `ids` first. In half precision the
parameters are rounded on their way into the loss, and with that the scaled gradients on their way
out, as `crosscast.reference` does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Dtype, Plan
from crosscast.recipe.document import Recipe
from crosscast.reference.data import Tensors
from crosscast.reference.interpreter import Forward, MicroBatch, Trace, run
from crosscast.reference.rounding import round_to

SHAPES = {"kernel": (3, 4), "bias": (4,), "gamma": (4,), "beta": (4,), "embeddings": (6, 4)}
ROLES = {
    "bias": frozenset({"bias"}),
    "gamma": frozenset({"layer_norm"}),
    "beta": frozenset({"bias", "layer_norm"}),
    "embeddings": frozenset({"embedding"}),
}
WINDOWS = 30
MICRO_ROWS = {7: (2, 2), 15: (1,), 23: (2, 2)}  # short windows; the others hold (2, 2, 2, 2)
# All counts are powers of two: divisions by them are exact, and no rounding depends on their order.
FAULTS = {(5, 1): np.inf, (9, 0): np.nan, (10, 3): -np.inf, (11, 2): np.inf}
Batch = dict[str, np.ndarray]


@dataclass(frozen=True)
class Toy:
    """Starting parameters and the micro-batches of every window."""

    parameters: dict[str, np.ndarray]
    windows: list[list[Batch]]
    dtype: Dtype

    def expected(self, recipe: Recipe, plan: Plan | None = None) -> Trace:
        """Return what the reference makes of it, by the canonical plan if none is given."""
        windows = [[self._forward(batch) for batch in window] for window in self.windows]
        return run(plan or canonical_plan(recipe), self.parameters, windows, ROLES)

    def _forward(self, batch: Batch) -> Forward:
        gradients = {name: batch[name] for name in SHAPES if name != "embeddings"}
        gradients["embeddings"] = np.zeros(SHAPES["embeddings"], np.float32)
        np.add.at(gradients["embeddings"], batch["ids"], batch["embeddings"])
        rows, tokens = len(batch["labels"]), int((batch["labels"] >= 0).sum())

        def work(parameters: Tensors) -> MicroBatch:
            loss = sum(
                np.sum(round_to(parameters[name], self.dtype) * gradient)
                for name, gradient in gradients.items()
            )
            return MicroBatch(float(loss), gradients, rows, tokens)

        return Forward(rows, work, tokens)

    def save(self, folder: Path) -> None:
        """Write it for a runner, as few arrays: every one of a file takes its time."""
        micro = [batch for window in self.windows for batch in window]
        arrays: dict[str, Any] = {f"start/{n}": a for n, a in self.parameters.items()}
        arrays |= {f"batch/{n}": np.concatenate([b[n] for b in micro]) for n in micro[0]}
        arrays |= {f"rows/{n}": np.array([len(batch[n]) for batch in micro]) for n in micro[0]}
        counts = np.array([len(window) for window in self.windows])
        np.savez(folder / "toy.npz", dtype=np.array(self.dtype), counts=counts, **arrays)


def make_toy(recipe: Recipe, seed: int = 0) -> Toy:
    """Make a toy for a recipe; the faults are only for those that check."""
    rng = np.random.default_rng(seed)
    dtype = recipe.precision.compute_dtype
    windows = []
    for number in range(WINDOWS):
        rows = MICRO_ROWS.get(number, (2, 2, 2, 2))
        windows.append([_batch(rng, count, unique=dtype != "float32") for count in rows])
        if recipe.accumulation.normalize_by == "token":
            for batch in windows[-1]:
                batch["labels"][0] = -100  # in a window of one row: no label at all
    if recipe.scaling_on:
        for (number, index), value in FAULTS.items():
            windows[number][index]["kernel"][1, 2] = value
    parameters = {n: rng.standard_normal(s).astype(np.float32) for n, s in SHAPES.items()}
    return Toy(parameters, windows, dtype)


def _batch(rng: np.random.Generator, rows: int, *, unique: bool) -> Batch:
    # A row that is looked up twice has two halves in its gradient, rounded one by one.
    ids = rng.permutation(6)[:3] if unique else rng.integers(0, 6, 5)
    shapes = SHAPES | {"embeddings": (len(ids), 4)}
    arrays = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    return arrays | {"ids": ids.astype(np.int32), "labels": np.zeros(rows, np.int32)}


def load_toy(folder: Path) -> tuple[str, Batch, list[list[Batch]]]:
    """Return type, parameters and windows as `Toy.save` wrote them."""
    with np.load(folder / "toy.npz", allow_pickle=False) as file:
        arrays = dict(file)
    dtype = str(arrays.pop("dtype"))
    start = {n: arrays[f"start/{n}"] for n in SHAPES}
    parts = {}
    for name in (*SHAPES, "ids", "labels"):
        ends = np.cumsum(arrays[f"rows/{name}"])[:-1]
        parts[name] = np.split(arrays[f"batch/{name}"], ends)
    micro = iter([dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)])
    return dtype, start, [list(islice(micro, count)) for count in arrays["counts"]]
