"""The shipped BERT on synthetic rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crosscast.recipe.document import Recipe, SyntheticData
from crosscast_parity.inputs.shared import Inputs, write_inputs
from crosscast_parity.recipes.derived import (
    TINY_TOKENS,
    bert_of,
    changed,
    comparable,
    is_small,
    shortened,
    tiny_model,
    without_dropout,
)
from crosscast_parity.recipes.stress import stress_recipe
from crosscast_parity.scaling_law.problems import TWINS, refuse
from crosscast_parity.scaling_law.shapes import Shape

EVAL_ROWS = 8
SHORTEST, LABELS = 9, 3
"""Tokens of the shortest synthetic rows, and their classes."""
UNLABELLED = 0.3
"""Share of labels that are left out where losses are normalised by labels."""


@dataclass(frozen=True, slots=True)
class ShippedBert:
    """A tiny BERT. `stress`: every feature of the recipe is made active in so short a run.
    `keep_model`: the recipe's own model and sequence length are used."""

    stress: bool
    keep_model: bool

    @property
    def rows(self) -> str:
        """What the rows are called."""
        return "synthetic rows"

    @property
    def run(self) -> Mapping[str, Any]:
        """What a run needs: dropout is 0 in the recipe."""
        return {"folder": "", "dropout": True}

    def derive(self, recipe: Recipe, shape: Shape, windows: int) -> tuple[Recipe, tuple[str, ...]]:
        """Return the recipe without dropout for a small model, and what was changed.

        Raises:
            DiagnosticError: CC748 for a model that is to be kept and does not take the rows.
        """
        single, simplified = without_dropout(comparable(recipe)[0])
        if self.keep_model and bert_of(recipe).labels != LABELS:
            raise refuse(f"--keep-model is for models of {LABELS} labels, which the rows have")
        if self.stress:
            words = "magnitudes: as with --stress, so that every feature is active"
            return stress_recipe(single)[0], (*simplified, words)
        if not self.keep_model and not _fits(single):
            single = changed(single, tiny_model(single))
            simplified = (*simplified, "model: 0.14 million weights (BERT tiny), for speed")
        return shortened(single, windows), simplified

    def data(self, recipe: Recipe, train_rows: int) -> dict[str, Any]:
        """Return the change to synthetic rows."""
        length = recipe.data.sequence_length
        length = length if self.keep_model else min(length, TINY_TOKENS)
        data = SyntheticData(
            source="synthetic",
            sequence_length=max(length, SHORTEST),
            train_rows=train_rows,
            eval_rows=EVAL_ROWS,
            shuffle=recipe.data.shuffle,
        )
        return {"data": data.model_dump()}

    def write(
        self, recipe: Recipe, train_rows: int, folder: Path, target: str, python: str
    ) -> Inputs:
        """Write rows, some without labels if losses are normalised by them, and weights."""
        inputs = write_inputs(recipe, folder, TWINS)
        if recipe.accumulation.normalize_by == "token":
            for path in (inputs.train, inputs.few):
                leave_out_labels(path, recipe.seed)
        return inputs


def _fits(recipe: Recipe) -> bool:
    """Whether the model is small, and one for the synthetic rows."""
    model = bert_of(recipe)
    return is_small(recipe) and model.max_positions >= SHORTEST and model.labels == LABELS


def leave_out_labels(path: Path, seed: int) -> None:
    """Replace some labels of an npz file by -100, so that micro-batches hold unequal numbers."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    rng = np.random.default_rng(seed)
    left_out = rng.random(arrays["labels"].shape) < UNLABELLED
    left_out.flat[0] = False  # some label stays
    arrays["labels"] = np.where(left_out, -100, arrays["labels"]).astype(arrays["labels"].dtype)
    np.savez(path, **arrays)
