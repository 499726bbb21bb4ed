"""Emitted PyTorch scripts, run on a GPU as a user starts them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from crosscast.recipe.document import Recipe
from frameworks.emitted_script import emit, write_rows
from frameworks.torch_lab import accept_newer

TESTS = Path(__file__).parents[1]
OWN_MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(128, 32)
        layer = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(32, 3)

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.head(self.encoder(self.embed(input_ids)).mean(1))
"""
OWN: dict[str, Any] = {
    "model": {"kind": "custom", "factory": {"torch": "net:Net"}},
    "optimizer": {"name": "adamw", "learning_rate": 1e-3, "no_decay": []},
}
"""Sections of a recipe for a model that the script does not bring along."""


def python(*arguments: object, cwd: Path) -> str:
    """Run a Python program in a process that sees the GPU, and return what it printed."""
    given = [str(Path(path).absolute()) for path in os.environ.get("PYTHONPATH", "").split(":")]
    variables = {
        "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, given)]),
        # Without it cuBLAS may give other sums in every run.
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    }
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def script(recipe: Recipe, target: str, folder: Path) -> Path:
    """Write a target's script, the own model beside it, and rows; return the folder."""
    emit(recipe, target, folder)
    if "@" in target:
        accept_newer(folder)
    (folder / "net.py").write_text(OWN_MODEL)
    write_rows(folder / "train.npz", 64)
    write_rows(folder / "eval.npz", 12)
    return folder


def train(folder: Path, output: str, *flags: object) -> None:
    """Train on the GPU."""
    python("train.py", "--device", "gpu", "--output", output, *flags, cwd=folder)


def rows(folder: Path, output: str) -> list[dict[str, Any]]:
    """Return the trace."""
    lines = (folder / output / "trace.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def weights(folder: Path, output: str) -> dict[str, np.ndarray]:
    """Return the final weights."""
    found: dict[str, np.ndarray] = load_file(folder / output / "model.safetensors")
    return found
