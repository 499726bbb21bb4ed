"""W processes are W times the accumulation: correct scripts pass, planted bugs are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crosscast.cli import app
from crosscast.emit.folders import compile_to_folders
from crosscast.recipe.document import Recipe
from crosscast.recipe.yaml_text import recipe_text
from crosscast_parity.recipes.derived import changed
from frameworks.scaling_bugs import BUGS, SHOWS, UNSCALE
from frameworks.subprocesses import require
from parity_recipes import plain
from scaling_bench import Bench, subject_of
from tiers import cases, exhaustive

FLOAT32: dict[str, Any] = {
    "precision": {"mode": "none", "compute_dtype": "float32"},
    "loss_scaling": {"mode": "none"},
}
RECIPES: dict[str, dict[str, Any]] = {
    "float32 AdamW and an average": {**FLOAT32, "ema.decay": 0.9},
    "labels, values, SGD": {
        **FLOAT32,
        "accumulation.normalize_by": "token",
        "clipping": {"kind": "value", "max_value": 0.01},
        "optimizer": {"name": "sgd", "learning_rate": 0.05, "momentum": 0.9},
    },
    "bfloat16 LAMB": {
        "precision": {"mode": "mixed", "compute_dtype": "bfloat16"},
        "loss_scaling": {"mode": "none"},
        "optimizer": {"name": "lamb", "learning_rate": 1e-3},
    },
    "half weights, means of micro-batches": {
        "precision": {"mode": "full", "compute_dtype": "float16"},
        "loss_scaling": {"mode": "dynamic", "init_scale": 1024.0, "growth_interval": 3},
        "accumulation.normalize_by": "microbatch",
        "accumulation.tail": "drop",
    },
}


WAITING = f"    if not loss.isfinite():\n        torch.distributed.recv(totals, 0)\n{UNSCALE}"
"""The process whose own loss overflows waits for what the other one never sends."""


def recipe_of(changes: dict[str, Any]) -> Recipe:
    return changed(plain(clipping__max_norm=0.1), changes)


@pytest.fixture(scope="module")
def torch_bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    require("torch")
    return Bench(tmp_path_factory.mktemp("torch"), recipe_of({}), "torch")


@pytest.fixture(scope="module")
def paddle_bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    require("paddle")
    return Bench(tmp_path_factory.mktemp("paddle"), recipe_of({}), "paddle")


@pytest.fixture(scope="module")
def tensorflow_bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    require("tensorflow")
    return Bench(tmp_path_factory.mktemp("tensorflow"), recipe_of({}), "tensorflow")


@pytest.fixture(scope="module")
def jax_bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    require("jax")
    return Bench(tmp_path_factory.mktemp("jax"), recipe_of({}), "jax")


@pytest.mark.parametrize("framework", BUGS)
def test_every_bug_fits_the_script(tmp_path: Path, framework: str) -> None:
    subject = subject_of(recipe_of({}))
    recipe = subject.shapes[-1].applied(subject.recipe)
    compile_to_folders(recipe, (framework,), tmp_path)
    texts = [path.read_text() for path in tmp_path.rglob("*.py")]
    for name, edits in BUGS[framework].items():
        for old, _ in edits:
            assert sum(text.count(old) for text in texts) == 1, (name, old)


def found(bench: Bench, framework: str, name: str) -> None:
    scene, check, cause = SHOWS[name]
    report = bench.run(name.replace(" ", "-"), getattr(bench, scene), BUGS[framework][name])
    assert check in {check.name for check in report.failed}, report
    assert report.cause.startswith(cause), report


@pytest.mark.torch
@exhaustive("planted bugs of the scaling law")
@pytest.mark.parametrize("name", BUGS["torch"])
def test_a_bug_in_a_script_of_torch_is_found(torch_bench: Bench, name: str) -> None:
    found(torch_bench, "torch", name)


@pytest.mark.paddle
@exhaustive("planted bugs of the scaling law")
@pytest.mark.parametrize("name", BUGS["paddle"])
def test_a_bug_in_a_script_of_paddle_is_found(paddle_bench: Bench, name: str) -> None:
    found(paddle_bench, "paddle", name)


@pytest.mark.tensorflow
@exhaustive("planted bugs of the scaling law")
@pytest.mark.parametrize("name", BUGS["tensorflow"])
def test_a_bug_in_a_script_of_tensorflow_is_found(tensorflow_bench: Bench, name: str) -> None:
    found(tensorflow_bench, "tensorflow", name)


@pytest.mark.jax
@exhaustive("planted bugs of the scaling law")
@pytest.mark.parametrize("name", BUGS["jax"])
def test_a_bug_in_a_script_of_jax_is_found(jax_bench: Bench, name: str) -> None:
    found(jax_bench, "jax", name)


@exhaustive("waits 45 seconds for a dead-lock")
@pytest.mark.torch
def test_a_dead_lock_is_told_as_one(tmp_path: Path) -> None:
    require("torch")
    bench = Bench(tmp_path, recipe_of({}), "torch", stall=45.0)
    report = bench.run("dead-lock", bench.overflow, [(UNSCALE, WAITING)])
    assert report.outcome.kind == "timeout"
    assert "no window finished for 45 s" in report.outcome.message
    assert report.cause.startswith("a deadlock"), report


def silent(bench: Bench) -> None:
    for scene in (bench.plain, bench.overflow):
        report = bench.run(f"clean-{scene.name}", scene)
        assert not report.failed, report
        assert not [check for check in report.checks if check.result == "unclear"], report


@pytest.mark.torch
@pytest.mark.parametrize(
    "name", cases(RECIPES, quick=[], reason="correct scripts; with stand-ins in `make test`")
)
def test_correct_scripts_of_torch_are_equal(tmp_path: Path, name: str) -> None:
    require("torch")
    silent(Bench(tmp_path, recipe_of(RECIPES[name]), "torch"))


@pytest.mark.paddle
@pytest.mark.parametrize(
    "name", cases(list(RECIPES)[:2], quick=[], reason="correct scripts of Paddle")
)
def test_correct_scripts_of_paddle_are_equal(tmp_path: Path, name: str) -> None:
    require("paddle")
    silent(Bench(tmp_path, recipe_of(RECIPES[name]), "paddle"))


@exhaustive("correct scripts of TensorFlow, 40 to 60 seconds each")
@pytest.mark.tensorflow
@pytest.mark.parametrize("name", ["labels, values, SGD", "half weights, means of micro-batches"])
def test_correct_scripts_of_tensorflow_are_equal(tmp_path: Path, name: str) -> None:
    require("tensorflow")
    silent(Bench(tmp_path, recipe_of(RECIPES[name]), "tensorflow"))


@exhaustive("correct scripts of JAX, which compiles every run")
@pytest.mark.jax
@pytest.mark.parametrize("name", ["labels, values, SGD", "half weights, means of micro-batches"])
def test_correct_scripts_of_jax_are_equal(tmp_path: Path, name: str) -> None:
    require("jax")
    silent(Bench(tmp_path, recipe_of(RECIPES[name]), "jax"))


@exhaustive("the command as a whole on real frameworks; with stand-ins in `make test`")
@pytest.mark.parametrize(
    "framework",
    [
        pytest.param("torch", marks=pytest.mark.torch),
        pytest.param("paddle", marks=pytest.mark.paddle),
        pytest.param("tensorflow", marks=pytest.mark.tensorflow),
        pytest.param("jax", marks=pytest.mark.jax),
    ],
)
def test_the_command(tmp_path: Path, framework: str, capsys: pytest.CaptureFixture[str]) -> None:
    require(framework)
    path = tmp_path / "recipe.yaml"
    path.write_text(recipe_text(recipe_of({})))
    options = ["--windows", "8", "--json", "-o", str(tmp_path / "runs")]
    command = ["check-scaling", str(path), "--to", framework, *options]
    code = app(command, standalone_mode=False)
    (target,) = json.loads(capsys.readouterr().out)["targets"]
    assert (target["verdict"], code) == ("EQUAL", 0), target
    assert [(run["scene"], run["processes"]) for run in target["runs"]] == [
        ("plain", 1),
        ("plain", 2),
        ("plain", 2),
        ("overflow", 1),
        ("overflow", 2),
    ]
