"""A folder with the plug-in of `tests/plugin` installed, a recipe and what is compiled from it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from frameworks.subprocesses import warm

TESTS = Path(__file__).resolve().parents[1]
RECIPE = """\
version: 1
name: toy
seed: 7
model: {kind: bert, preset: tiny, labels: 3, dropout: 0.0}
data: {source: synthetic, train_rows: 64, eval_rows: 16, sequence_length: 16}
batch: {micro_batch_size: 4}
accumulation: {steps: 2}
precision: {mode: none}
clipping: {kind: global_norm, max_norm: 0.5}
optimizer: {name: adamw, learning_rate: 1e-3, weight_decay: 0.1, no_decay: [bias, layer_norm]}
schedule: {name: linear, warmup_steps: 2, total_steps: 6}
"""


def install(folder: Path) -> None:
    """Install the plug-in into a folder of its own."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(folder), str(TESTS / "plugin")], check=True)


class Lab:
    """A folder with a recipe, its rows and what is compiled to toygrad and PyTorch."""

    def __init__(self, plugins: Path, folder: Path) -> None:
        self._plugins, self.folder = plugins, folder
        (folder / "recipe.yaml").write_text(RECIPE)
        rows = ("--train-rows", "64", "--eval-rows", "16", "--sequence-length", "16")
        made = self("data", "nli-synthetic", "-o", "data", *rows, "--vocab-size", "1024")
        assert made.returncode == 0, made.stderr
        done = self("compile", "recipe.yaml", "--to", "toy,torch", "-o", "out")
        assert done.returncode == 0, done.stderr

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command, with the plug-in."""
        return self.python("-m", "crosscast", *arguments, executable=warm("crosscast"))

    def python(
        self, *arguments: str, executable: str = sys.executable
    ) -> subprocess.CompletedProcess[str]:
        """Run Python in the folder, with the plug-in."""
        return subprocess.run(
            [executable, *arguments],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self._plugins), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )

    def train(self, target: str, output: str, *flags: str) -> Path:
        """Run an emitted script to its end and return the folder of what it leaves."""
        given = ("--output", output, "--device", "cpu", "--threads", "1")
        done = self.python(f"out/{target}/train.py", *given, *flags)
        assert done.returncode == 0, done.stderr
        return self.folder / output
