"""A model that a migration wrote beside each script is not found beside the recipe: what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_parity.weights.workers import Processes
from recipe_texts import recipe_of

MODEL = '{kind: custom, factory: {torch: "own_model:build_model"}}'
DATA = "{source: npz, train: train.npz, eval: eval.npz}"


class Fails:
    """A process in which the module of the factory is not found."""

    def send(self, job: dict[str, Any]) -> None:
        pass

    def receive(self, timeout: float) -> dict[str, Any]:
        failed = {
            "stage": "factory",
            "type": "ModuleNotFoundError",
            "words": "No module named 'own_model'",
            "module": "own_model",
            "place": {},
            "frames": [],
        }
        return {"failed": failed}


def refused(folder: Path) -> Diagnostic:
    recipe = recipe_of(model=MODEL, data=DATA)
    workers: Any = {"torch": Fails()}
    rows = {"labels": np.zeros(2, np.int64)}
    found = Processes(recipe, ["torch"], folder, rows, python={}, timeout=1, workers=workers)
    with found, pytest.raises(DiagnosticError) as caught:
        found.describe()
    (problem,) = caught.value.diagnostics
    return problem


def test_the_hint_names_the_file_of_the_migration(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "own_model.py").touch()
    hint = refused(tmp_path).hint
    assert "copy torch/own_model.py there as own_model_torch.py" in hint
    assert "name own_model_torch in the recipe" in hint


def test_a_module_that_is_nowhere_has_no_such_hint(tmp_path: Path) -> None:
    problem = refused(tmp_path)
    assert problem.code == "CC761"
    assert "copy" not in problem.hint
