"""No optimizer of the installed packages has an argument that CL513 calls foreign."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crosscast_reading.pysource.libraries.words import all_words
from frameworks.subprocesses import require, run_python

PACKAGES = [
    pytest.param("torch", marks=pytest.mark.torch),
    pytest.param("paddle", marks=pytest.mark.paddle),
    pytest.param("keras", marks=pytest.mark.tensorflow),
    pytest.param("tf_keras", marks=pytest.mark.tensorflow),
]


@pytest.mark.parametrize("package", PACKAGES)
def test_foreign_arguments(package: str) -> None:
    require(package)
    root = package.removeprefix("tf_")
    every = [row for words in all_words() for row in words.foreign_arguments]
    rows = [[pattern, sorted(words)] for pattern, words in every if pattern.startswith(root)]
    program = Path(__file__).parent / "foreign_arguments.py"
    framework = "tensorflow" if package == "keras" else package
    answer = run_python(program, framework, package, json.dumps(rows))
    assert answer["taken"] == []
    assert len(answer["tried"]) >= len(rows)


@pytest.mark.torch
def test_an_argument_that_is_there_is_found() -> None:
    require("torch")
    rows = json.dumps([[r"torch\.optim\.(Adam|SGD)", ["momentum", "betas"]]])
    answer = run_python(Path(__file__).parent / "foreign_arguments.py", "torch", "torch", rows)
    assert answer["taken"] == [["torch.optim.Adam", "betas"], ["torch.optim.SGD", "momentum"]]
