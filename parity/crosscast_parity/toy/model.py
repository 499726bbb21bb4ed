"""The toy: a tiny model whose gradients are given numbers.

Every parameter w has an array x in the batch and adds the sum of w*x to the loss, so that x is its
gradient, whatever w is; `embeddings` is looked up at `ids` first. In half precision w is rounded
on its way into the loss, and with that the scaled gradient on its way out.

The numbers have six significant bits. A product with a scale of few bits, divided by a count, then
never lies close to the middle between two half-precision numbers, and the last bit of a float32
quotient, in which frameworks may differ, does not decide how it is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from crosscast.plan.operations import Dtype
from crosscast.recipe.document import Recipe
from crosscast.reference.data import Tensors
from crosscast.reference.interpreter import Forward, MicroBatch
from crosscast.reference.rounding import round_to
from crosscast_parity.toy.faults import Faults

SHAPES = {"kernel": (3, 4), "bias": (4,), "gamma": (4,), "beta": (4,), "embeddings": (6, 4)}
WEIGHTS = sum(math.prod(shape) for shape in SHAPES.values())
ROLES = {
    "bias": frozenset({"bias"}),
    "gamma": frozenset({"layer_norm"}),
    "beta": frozenset({"bias", "layer_norm"}),
    "embeddings": frozenset({"embedding"}),
}
Batch = dict[str, np.ndarray]
TOY_FILE = "toy.npz"


@dataclass(frozen=True)
class Toy:
    """Starting parameters and the micro-batches of every window."""

    parameters: Mapping[str, np.ndarray]
    windows: list[list[Batch]]
    dtype: Dtype
    """In which the model computes."""
    weights: Dtype
    """In which it holds its weights, but for those of the normalization layer."""
    _works: dict[int, list[Work]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def save(self, folder: Path) -> None:
        """Write `toy.npz` for a worker."""
        batches = [batch for window in self.windows for batch in window]
        arrays: dict[str, Any] = {f"start/{n}": a for n, a in self.parameters.items()}
        arrays |= {name: np.stack([batch[name] for batch in batches]) for name in (*SHAPES, "ids")}
        arrays["labels"] = np.concatenate([batch["labels"] for batch in batches])
        arrays["rows"] = np.array([len(batch["labels"]) for batch in batches])
        arrays["sizes"] = np.array([len(window) for window in self.windows])
        arrays |= {"dtype": np.array(self.dtype), "weights": np.array(self.weights)}
        np.savez(folder / TOY_FILE, **arrays)

    def work(self, window: int) -> list[Forward]:
        """Return a window for the reference interpreter."""
        return [work.forward for work in self._micro_batches(window)]

    def nudged(self, window: int, nudge: Nudge) -> list[MicroBatch]:
        """Return a window with a part of it moved, and without its loss."""
        return [
            (replace(work, nudge=nudge) if nudge.part in parts else work).without_loss
            for work, parts in zip(self._micro_batches(window), self.parts(window), strict=True)
        ]

    def _micro_batches(self, window: int) -> list[Work]:
        """Return the micro-batches of a window, which know their gradients."""
        if window not in self._works:
            self._works[window] = [Work(batch, self.dtype) for batch in self.windows[window]]
        return self._works[window]

    def parts(self, window: int) -> list[tuple[str, ...]]:
        """Return the parts of every micro-batch of a window that can be nudged."""
        each = range(len(self.windows[window]))
        return [(f"batch {i}", *((f"twice {i}",) if self.dtype == "float32" else ())) for i in each]

    def loss_size(self, window: int, parameters: Tensors) -> float:
        """Return the sum of the magnitudes of all terms of a window's undivided losses."""
        with np.errstate(all="ignore"):
            return sum(
                float(np.sum(np.abs(np.asarray(parameters[name], np.float64) * gradient)))
                for work in self._micro_batches(window)
                for name, gradient in work.gradients.items()
            )


@dataclass(frozen=True)
class Nudge:
    """A small relative change of one of the inputs of a step."""

    part: str
    """`parameters`, a moment, `ema`, `rate`, `decay`, or the gradients of a micro-batch: `batch 0`,
    or `twice 0` where rows of the embedding that are looked up twice move against each other."""
    size: float


@dataclass(frozen=True)
class Work:
    """One micro-batch as the reference sees it."""

    batch: Batch
    dtype: Dtype
    nudge: Nudge | None = None

    @cached_property
    def gradients(self) -> dict[str, np.ndarray]:
        """The undivided, unscaled gradients."""
        gradients = {name: self.batch[name] for name in SHAPES}
        if self.nudge:
            factor = 1.0 + self.nudge.size
            gradients = {
                name: array.astype(np.float64) * factor for name, array in gradients.items()
            }
            if self.nudge.part.startswith("twice"):
                gradients["embeddings"][1] *= (1.0 - self.nudge.size) / factor
        table = np.zeros(SHAPES["embeddings"], gradients["embeddings"].dtype)
        np.add.at(table, self.batch["ids"], gradients["embeddings"])
        return gradients | {"embeddings": table}

    @cached_property
    def without_loss(self) -> MicroBatch:
        """The micro-batch where only its gradients matter."""
        return MicroBatch(0.0, self.gradients, self.forward.rows, self.forward.tokens)

    @cached_property
    def forward(self) -> Forward:
        """The micro-batch for the reference interpreter."""
        rows = len(self.batch["labels"])
        tokens = int((self.batch["labels"] != -100).sum())

        def run(parameters: Tensors) -> MicroBatch:
            with np.errstate(all="ignore"):
                loss = sum(
                    np.add.reduce(round_to(parameters[name], self.dtype) * gradient, axis=None)
                    for name, gradient in self.gradients.items()
                )
            return MicroBatch(float(loss), self.gradients, rows, tokens)

        return Forward(rows, run, tokens)


def make_toy(recipe: Recipe, faults: Faults) -> Toy:
    """Make the toy that a recipe trains, with the gradients of a course."""
    rng = np.random.default_rng(faults.seed)
    dtype = recipe.precision.compute_dtype
    by_token = recipe.accumulation.normalize_by == "token"
    parameters = {n: rng.standard_normal(s).astype(np.float32) for n, s in SHAPES.items()}
    windows = [
        [
            _batch(rng, dtype, faults.surges.get(number, 0)) | _labels(rng, rows, by_token)
            for rows in window
        ]
        for number, window in enumerate(faults.windows)
    ]
    for fault in faults.faults:
        windows[fault.window][fault.micro_batch][fault.parameter][..., 1] = fault.value
    weights: Dtype = dtype if recipe.precision.mode == "full" else "float32"
    return Toy(parameters, windows, dtype, weights)


def _batch(rng: np.random.Generator, dtype: Dtype, surge: int) -> Batch:
    ids = rng.permutation(6)[:3]
    # A row that is looked up twice has two halves in its gradient, rounded one by one.
    if dtype == "float32":
        ids[1] = rng.choice(ids[:2])
    shapes = SHAPES | {"embeddings": (3, 4)}
    arrays = {name: _numbers(rng, shape, surge) for name, shape in shapes.items()}
    return arrays | {"ids": ids.astype(np.int32)}


def _labels(rng: np.random.Generator, rows: int, by_token: bool) -> Batch:
    """Return two labels a row, some of them left out, or one a row."""
    if not by_token:
        return {"labels": np.zeros(rows, np.int32)}
    return {"labels": rng.choice((-100, 0, 1), (rows, 2), p=(0.4, 0.3, 0.3)).astype(np.int32)}


def _numbers(rng: np.random.Generator, shape: tuple[int, ...], surge: int) -> np.ndarray:
    """Return multiples of 2**(surge - 4) up to 63 times that; now and then they are all zero."""
    whole = rng.integers(-63, 64, shape) * (rng.random() > 0.05)
    return np.ldexp(whole.astype(np.float32), surge - 4)
