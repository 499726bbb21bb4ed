"""Rows with which the memory of the user's model is found."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from crosscast.data.npz import read_arrays
from crosscast.messages.diagnostics import failure
from crosscast.recipe.document import CrossEntropy, Recipe
from crosscast_parity.inputs.stored import SCRIPT_TYPES, stored_rows

ROWS = 64
Rows = dict[str, np.ndarray]


def sample_rows(recipe: Recipe, folder: Path) -> Rows:
    """Return some training rows of a recipe, by array, in the types that scripts use.

    They are spread evenly over all rows. Those that vary in length are padded to the longest.

    Args:
        recipe: With a custom model.
        folder: Of the recipe, which names of files and modules are relative to.

    Raises:
        DiagnosticError: CC601, CC602 if the rows cannot be read.
    """
    with tempfile.TemporaryDirectory() as place:
        path = stored_rows(recipe, "train", Path(place), beside=folder, count=ROWS, evenly=True)
        arrays = read_arrays(path)
    classes = recipe.loss.target if isinstance(recipe.loss, CrossEntropy) else None
    return {name: _in_script(path, name, array, classes) for name, array in arrays.items()}


def _in_script(path: Path, name: str, array: np.ndarray, classes: str | None) -> np.ndarray:
    dtype = np.int64 if name == classes else SCRIPT_TYPES.get(array.dtype.kind)
    if dtype is None or not array.ndim or not len(array):
        kind = f"{array.dtype}{list(array.shape)}"
        raise failure("CC602", f"{path}: `{name}` is {kind}, no rows of numbers")
    return array[:ROWS].astype(dtype)
