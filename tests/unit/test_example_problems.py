"""The data and the recipes of the example problems."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.recipe.load import load

EXAMPLES = Path(__file__).parents[2] / "examples"
PROBLEMS = ("resnet-cifar", "gpt", "lstm-forecast")


@pytest.fixture(params=PROBLEMS)
def folder(request: pytest.FixtureRequest) -> Path:
    name: str = request.param
    return EXAMPLES / name


@pytest.fixture
def data(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("data", folder / "data.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_row_depends_on_its_number_alone(data: Any) -> None:
    made = data.train_rows()
    assert len(made) == data.TRAIN_ROWS
    together = made.rows([3, 0, 5])
    for position, number in enumerate((3, 0, 5)):
        for name, array in made.rows([number]).items():
            assert np.array_equal(array[0], together[name][position])
    first = {name: array[0] for name, array in data.eval_rows().rows([0]).items()}
    assert any(not np.array_equal(array, together[name][1]) for name, array in first.items())


def test_the_target_is_an_array_and_the_recipe_is_short(folder: Path, data: Any) -> None:
    recipe = load(str(folder / "recipe.yaml"))
    assert recipe.loss.target in data.train_rows().rows([0])
    lines = (folder / "recipe.yaml").read_text().splitlines()
    assert recipe.model.kind == "custom"
    assert len(lines) <= 22 + len(recipe.model.factory)
