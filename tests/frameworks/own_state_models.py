"""One small model in four frameworks, and what its weights are called and how they lie in each."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

TORCH = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.mid = nn.Embedding(128, 6), nn.Linear(6, 5)
        self.norm, self.head = nn.LayerNorm(5, eps=1e-5), nn.Linear(5, 3)
        self.register_buffer("version", torch.ones(2, dtype=torch.int64))

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.head(self.norm(torch.tanh(self.mid(self.table(input_ids).mean(1)))))


build_model = Net
"""
PADDLE = """
import paddle
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.words, self.middle = nn.Embedding(128, 6), nn.Linear(6, 5)
        self.normal, self.last = nn.LayerNorm(5, epsilon=1e-5), nn.Linear(5, 3)

    def forward(self, input_ids, attention_mask, token_type_ids):
        hidden = self.middle(self.words(input_ids).mean(1))
        return self.last(self.normal(paddle.tanh(hidden)))


build_model = Net
"""
KERAS = """
import keras
import numpy as np


@keras.saving.register_keras_serializable()
class Net(keras.Model):
    def __init__(self):
        super().__init__(name="net")
        self.table = keras.layers.Embedding(128, 6, name="table")
        self.mid = keras.layers.Dense(5, "tanh", name="mid")
        self.norm = keras.layers.LayerNormalization(epsilon=1e-5, name="norm")
        self.head = keras.layers.Dense(3, name="head")

    def call(self, inputs, training=False):
        hidden = keras.ops.mean(self.table(inputs["input_ids"]), axis=1)
        return self.head(self.norm(self.mid(hidden)))


def build_model():
    model = Net()
    names = ("input_ids", "attention_mask", "token_type_ids")
    model({name: np.zeros((1, 8), np.int32) for name in names})
    return model
"""
FLAX = """
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.table, self.mid = nnx.Embed(128, 6, rngs=rngs), nnx.Linear(6, 5, rngs=rngs)
        self.norm = nnx.LayerNorm(5, epsilon=1e-5, rngs=rngs)
        self.head = nnx.Linear(5, 3, rngs=rngs)

    def __call__(self, input_ids, attention_mask, token_type_ids):
        hidden = self.mid(self.table(input_ids).mean(1))
        return self.head(self.norm(jnp.tanh(hidden)))


build_model = Net
"""
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
