"""Sweeps over the user's models: where their modules are found, and what makes another cell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from crosscast.recipe.document import Recipe
from crosscast_parity.sweep.cell import run_cell
from crosscast_parity.sweep.grid import make_grid
from crosscast_parity.sweep.prepare import Cell, Training, prepare
from sweep_fakes import RECIPE, fake_compiler

DATA = """
import numpy as np


class Rows:
    def __len__(self):
        return 6

    def rows(self, indices):
        return {"x": np.asarray(indices, np.float32), "y": np.asarray(indices, np.float32)}


def train_rows():
    return Rows()


eval_rows = train_rows
"""
OWN = {
    "model": {"kind": "custom", "factory": {"a": "own:build"}},
    "data": {"source": "custom", "train": "data:train_rows", "eval": "data:eval_rows"},
    "loss": {"kind": "mse", "target": "y"},
}


def compile_to(recipe: Recipe, targets: Sequence[str], directory: Path) -> None:
    """Write the stand-in; like an emitted script it imports the user's modules."""
    fake_compiler()(recipe, targets, directory)
    for script in directory.glob("*/train.py"):
        check = "import data, own\nfrom pathlib import Path\nassert Path('own.py').exists()\n"
        script.write_text(check + script.read_text())


def cells(place: Path) -> list[Cell]:
    grid = make_grid([str(place / "recipe.yaml")], ["a"], (1, 2))
    return prepare(grid, place / "sweep", Training(windows=4), compile_to)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "problem"
    folder.mkdir()
    (folder / "recipe.yaml").write_text(json.dumps(RECIPE | OWN))
    (folder / "data.py").write_text(DATA)
    (folder / "own.py").write_text("WIDTH = 3\n")
    return folder


def test_a_cell_runs_beside_the_recipe_on_its_rows(place: Path) -> None:
    for cell in cells(place):
        result = run_cell(cell.folder)
        assert result.kind == "finished", result.message
    spec = json.loads((cell.folder / "cell.json").read_text())
    assert spec["weights"] == ""  # every framework draws its own
    with np.load(cell.folder / spec["train"]) as rows:
        np.testing.assert_array_equal(rows["x"], np.arange(6))


def test_a_changed_model_is_another_cell_and_results_are_not(place: Path) -> None:
    first = cells(place)
    for cell in first:
        run_cell(cell.folder)
    assert [cell.folder for cell in cells(place)] == [cell.folder for cell in first]
    (place / "own.py").write_text("WIDTH = 4\n")
    assert not {cell.folder for cell in cells(place)} & {cell.folder for cell in first}
