"""One small model in four frameworks, and what its weights are called and how they lie in each."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

from program_files import files_in

_FILES = files_in(Path(__file__).with_suffix(".md"))
TORCH = "\n" + _FILES["torch.py"]
PADDLE = "\n" + _FILES["paddle.py"]
KERAS = "\n" + _FILES["keras.py"]
FLAX = "\n" + _FILES["flax.py"]
SOURCES = {"torch": TORCH, "tensorflow": KERAS, "paddle": PADDLE, "jax": FLAX}
MODEL: dict[str, Any] = {
    "model": {"kind": "custom", "factory": dict.fromkeys(SOURCES, "net:build_model")},
    "optimizer": {"name": "adamw", "learning_rate": 1e-3, "no_decay": []},
}
"""Sections of a recipe that trains it; its script needs the source as `net.py` beside it.

TensorFlow traces it in a third of the time that it takes for the smallest BERT.
"""
NAMES = {
    "torch": (
        *("table.weight", "mid.weight", "mid.bias"),
        *("norm.weight", "norm.bias", "head.weight", "head.bias"),
    ),
    "tensorflow": (
        *("net/table/embeddings", "net/mid/kernel", "net/mid/bias"),
        *("net/norm/gamma", "net/norm/beta", "net/head/kernel", "net/head/bias"),
    ),
    "paddle": (
        *("words.weight", "middle.weight", "middle.bias"),
        *("normal.weight", "normal.bias", "last.weight", "last.bias"),
    ),
    "jax": (
        *("table.embedding", "mid.kernel", "mid.bias"),
        *("norm.scale", "norm.bias", "head.kernel", "head.bias"),
    ),
}
KERNELS = (1, 5)


def write_maps(folder: Path) -> None:
    """Write `A-B.json` for every ordered pair of frameworks; only torch has the buffer."""
    for source, target in permutations(NAMES, 2):
        weights: dict[str, Any] = {}
        for number, (old, new) in enumerate(zip(NAMES[source], NAMES[target], strict=True)):
            weights[old] = {"to": new}
            if number in KERNELS and "torch" in (source, target):
                weights[old]["layout"] = "transpose"
        if source == "torch":
            weights["version"] = {"to": None}
        text = json.dumps({"version": 1, "weights": weights})
        (folder / f"{source}-{target}.json").write_text(text)
