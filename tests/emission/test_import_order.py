"""The imports of scripts are in the order of isort, whatever the user's modules are called."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.emit.render import sorted_imports
from custom_fakes import own_recipe

NAMES = ("zoo", "B.models", "m10", "m2", "a_b", "aB", "models.v2")
DATA = {"source": "custom", "train": "zebra:rows", "eval": "data:rows"}


def test_whatever_modules_are_called(tmp_path: Path) -> None:
    for number, name in enumerate(NAMES):
        factory = dict.fromkeys(("torch", "tensorflow", "paddle"), f"{name}:build")
        recipe = own_recipe(model={"kind": "custom", "factory": factory}, data=DATA)
        for target in factory:
            (result,) = compile_recipe(recipe, [target])
            text = result.files["train.py"].text
            (tmp_path / f"{number}_{target}.py").write_text(text)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "I"]
    done = subprocess.run([*command, "."], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (["m10", "m2", "B", "a"], ["a", "B", "m2", "m10"]),
        (["a1", "a.b", "a", "a_b", "ab"], ["a", "a.b", "a1", "a_b", "ab"]),
    ],
)
def test_numbers_count_and_capitals_do_not(given: list[str], wanted: list[str]) -> None:
    text = "".join(f"from {name} import (\n    x,\n)\n" for name in given)
    assert sorted_imports(text) == "".join(f"from {name} import (\n    x,\n)\n" for name in wanted)
