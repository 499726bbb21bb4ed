"""The rows on which models are compared."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from crosscast.data.npz import read_arrays
from crosscast.messages.diagnostics import failure
from crosscast.recipe.document import CustomLoss, Recipe
from crosscast_parity.inputs.stored import SCRIPT_TYPES, stored_rows

ROWS = 4


def rows_wanted(recipe: Recipe) -> int:
    """Return how many rows a comparison reads: with a custom loss a whole micro-batch, too."""
    whole = recipe.batch.micro_batch_size if isinstance(recipe.loss, CustomLoss) else 0
    return max(ROWS, whole)


def sample_rows(recipe: Recipe, count: int, folder: Path) -> dict[str, np.ndarray]:
    """Return the first training rows of a recipe, by array.

    Args:
        recipe: With a custom model.
        count: How many.
        folder: Of the recipe, which names of files and modules are relative to.

    Raises:
        DiagnosticError: CC601, CC602 for the rows.
    """
    with tempfile.TemporaryDirectory() as place:
        path = stored_rows(recipe, "train", Path(place), beside=folder, count=count)
        return rows_of(path, recipe, count)


def rows_of(path: Path, recipe: Recipe, count: int) -> dict[str, np.ndarray]:
    """Return the first rows of an npz file, in the types that scripts use.

    Raises:
        DiagnosticError: CC601, CC602 for the file, CC762 for arrays that are no rows.
    """
    columns = {}
    for name, array in read_arrays(path).items():
        dtype = SCRIPT_TYPES.get(array.dtype.kind)
        if dtype is None or not array.ndim or not len(array):
            kind = f"{array.dtype}{list(array.shape)}"
            raise failure("CC762", f"{path}: `{name}` is {kind}, no rows of numbers")
        columns[name] = array[:count].astype(dtype)
    if not model_rows(columns, recipe):
        raise failure("CC762", f"{path}: has no array for the model")
    return columns


def model_rows(rows: Mapping[str, np.ndarray], recipe: Recipe) -> dict[str, np.ndarray]:
    """Return the arrays that the model takes: all for a custom loss, which calls the model."""
    target = None if isinstance(recipe.loss, CustomLoss) else recipe.loss.target
    return {name: array for name, array in rows.items() if name != target}
