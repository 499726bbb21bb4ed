"""A model that a migration wrote beside each script is found, after all others."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_parity.inside.user_code import search_in
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


def test_the_hint_names_the_places_that_were_searched(tmp_path: Path) -> None:
    problem = refused(tmp_path)
    assert problem.code == "CC761"
    assert f"in {tmp_path}, in the interpreter, and in {tmp_path / 'torch'}" in problem.hint


def test_the_folder_of_a_target_is_searched_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "torch"
    own.mkdir()
    (tmp_path / "found_twice.py").write_text("PLACE = 'recipe'\n")
    for name in ("found_twice", "found_last", "json"):
        (own / f"{name}.py").write_text("PLACE = 'target'\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    search_in(str(tmp_path), str(own))
    search_in(str(tmp_path), str(own))
    assert sys.path.count(str(own)) == 1
    found = [importlib.import_module(name) for name in ("found_twice", "found_last")]
    assert [module.PLACE for module in found] == ["recipe", "target"]
    spec = importlib.util.find_spec("json")
    assert spec is not None
    assert str(tmp_path) not in str(spec.origin)


def test_a_folder_that_is_not_there_is_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    search_in(str(tmp_path), str(tmp_path / "torch"))
    assert str(tmp_path / "torch") not in sys.path
