"""A stranger's backend works through its entry point alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
RECIPE = """\
version: 1
name: toy
model: {kind: bert, preset: tiny, labels: 3}
data: {source: synthetic}
batch: {micro_batch_size: 4}
precision: {mode: mixed, compute_dtype: float16}
optimizer: {name: sgd, learning_rate: 1e-3}
schedule: {total_steps: 5}
"""


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the plug-in into a folder of its own."""
    folder = tmp_path_factory.mktemp("plugins")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(folder), str(TESTS / "plugin")], check=True)
    return folder


def crosscast(plugins: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "crosscast", *arguments],
        env=os.environ | {"PYTHONPATH": str(plugins)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_compiles_beside_the_backends_of_the_house(plugins: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE + "overrides: {toy: {shout: true}}\n")
    out = tmp_path / "out"
    done = crosscast(plugins, "compile", str(recipe), "--to", "toy,torch", "-o", str(out))
    assert done.returncode == 0, done.stderr
    assert (out / "torch" / "train.py").is_file()
    lines = (out / "toy" / "plan.txt").read_text().splitlines()
    assert lines[:4] == ["toy", "AUTOCAST", "NORMALIZE", "SCALE"]
    assert lines[-1] == "ZERO"


def test_its_rows_overrides_and_machine_count(plugins: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE.replace("float16", "bfloat16"))
    done = crosscast(plugins, "compile", str(recipe), "--to", "toy", "-o", str(tmp_path / "out"))
    assert done.returncode == 1
    assert "TOY1" in done.stderr
    assert not (tmp_path / "out").exists()
    recipe.write_text(RECIPE + "overrides: {toy: {whisper: true}}\n")
    assert "CC208" in crosscast(plugins, "check", str(recipe)).stderr
    rows = json.loads(crosscast(plugins, "matrix", "--json").stdout)
    assert "toy" in {row["target"] for row in rows}


def test_without_the_plugin_its_name_is_unknown(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE + "overrides: {toy: {shout: true}}\n")
    done = crosscast(tmp_path, "check", str(recipe))
    assert done.returncode == 1
    assert "CC106" in done.stderr
