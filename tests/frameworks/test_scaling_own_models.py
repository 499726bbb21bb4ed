"""The scaling law of the example problems: equal, a planted bug, and batch normalization."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crosscast.recipe.load import load
from frameworks.example_problems import problem
from frameworks.subprocesses import python_options, require
from scaling_bench import Bench
from tiers import cases, exhaustive

pytestmark = [pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle, pytest.mark.jax]


def checked(folder: Path, target: str, *options: str) -> tuple[int, dict[str, Any], str]:
    """Check a recipe; return the exit code, the report on the target, and what was said."""
    require(target)
    command = [sys.executable, "-m", "crosscast", "check-scaling", "recipe.yaml", "--to", target]
    done = subprocess.run(
        [*command, "--windows", "8", "--json", *python_options(target), *options],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.stdout, done.stderr
    (found,) = json.loads(done.stdout)["targets"]
    return done.returncode, found, done.stdout + done.stderr


CASES = [
    (target, example, dtype)
    for target in ("torch", "tensorflow", "paddle", "jax")
    for example in ("gpt", "lstm-forecast")
    for dtype in ("float32", "float16")
]


@pytest.mark.parametrize(
    ("target", "example", "dtype"),
    cases(CASES, quick=[], reason="the examples of every framework are equal"),
)
def test_the_examples_are_equal(target: str, example: str, dtype: str, tmp_path: Path) -> None:
    folder = problem(example, tmp_path, dtype)
    before = {path.name for path in folder.iterdir()}
    code, found, said = checked(folder, target)
    assert (found["verdict"], code) == ("EQUAL", 0), said
    scenes = [(run["scene"], run["processes"]) for run in found["runs"]]
    assert scenes.count(("plain", 2)) > 0
    assert ("overflow", 2) in scenes
    assert {path.name for path in folder.iterdir()} - before <= {"__pycache__"}


BUGS = {
    "sum": (("rows / PROCESSES", "rows / PROCESSES / PROCESSES"), "gradient norm"),
    "rows given twice": (("settings)[rank :: settings.processes]", "settings)"), "data"),
}


@exhaustive("planted bugs in a script that trains an example")
def test_a_bug_is_found_and_nothing_else(tmp_path: Path) -> None:
    require("torch")
    folder = problem("lstm-forecast", tmp_path)
    bench = Bench(tmp_path, load(str(folder / "recipe.yaml")), "torch", place=folder)
    clean = bench.run("clean", bench.plain)
    assert not clean.failed, clean
    for name, (edit, check) in BUGS.items():
        report = bench.run(name.replace(" ", "-"), bench.plain, [edit])
        assert check in {failed.name for failed in report.failed}, report


FUNCTIONAL = (
    "        return F.linear(self.norm(x)",
    "        x = F.dropout(x, 0.1, self.training)\n        return F.linear(self.norm(x)",
)


def test_batch_normalization_is_not_tested(tmp_path: Path) -> None:
    code, found, said = checked(problem("resnet-cifar", tmp_path), "torch")
    assert (found["verdict"], found["code"], code) == ("NOT TESTED", "CC749", 3), said
    assert found["wording"].startswith("not the same by design: every micro-batch has its own")
    assert "(BatchNorm2d)" in found["wording"]


@exhaustive("more models for which the law does not hold, and one for which it does again")
@pytest.mark.parametrize("target", ["tensorflow", "paddle", "jax"])
def test_batch_normalization_of_other_frameworks_is_not_tested(target: str, tmp_path: Path) -> None:
    code, found, said = checked(problem("resnet-cifar", tmp_path), target)
    assert (found["verdict"], found["code"], code) == ("NOT TESTED", "CC749", 3), said
    assert "(BatchNorm" in found["wording"]


@exhaustive("more models for which the law does not hold, and one for which it does again")
def test_dropout_that_is_no_layer_is_not_tested(tmp_path: Path) -> None:
    folder = problem("gpt", tmp_path)
    model = folder / "model_torch.py"
    text = model.read_text()
    assert text.count(FUNCTIONAL[0]) == 1
    model.write_text(text.replace(*FUNCTIONAL))
    code, found, said = checked(folder, "torch")
    assert (found["verdict"], found["code"], code) == ("NOT TESTED", "CC749", 3), said
    assert "or on chance" in found["wording"]


def test_a_model_that_fails_is_shown_with_its_place(tmp_path: Path) -> None:
    require("torch")
    folder = problem("lstm-forecast", tmp_path)
    model = folder / "model_torch.py"
    model.write_text(model.read_text().replace("self.head(states[:, -1])", "self.had(states)"))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "crosscast", "check-scaling", "recipe.yaml", "--to", "torch"),
            *python_options("torch"),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "CC762" in done.stderr
    assert "model_torch.py" in done.stderr
    assert "Traceback" not in done.stderr
