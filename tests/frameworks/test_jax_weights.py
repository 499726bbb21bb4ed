"""Weights of models in Flax NNX are matched with PyTorch's, and proved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crosscast.recipe.load import load
from crosscast_parity.weights.command import Request, match
from crosscast_parity.weights.search import Found
from frameworks.example_problems import problem
from frameworks.subprocesses import pythons, require
from tiers import cases

pytestmark = [pytest.mark.torch, pytest.mark.jax]

ATTENTION = {
    "torch": """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(16, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, ids):
        x = self.words(ids)
        return self.head(self.attention(x, x, x, need_weights=False)[0].mean(1))


build_model = Net
""",
    "jax": """
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.words = nnx.Embed(16, 8, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(2, 8, decode=False, rngs=rngs)
        self.head = nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, ids):
        return self.head(self.attention(self.words(ids)).mean(1))


build_model = Net
""",
}
LINEN = """
import flax.linen as nn
import jax.numpy as jnp
from flax import nnx


class Net(nn.Module):
    @nn.compact
    def __call__(self, ids, train=False):
        x = nn.Embed(16, 8)(ids)
        x = x + nn.MultiHeadDotProductAttention(
            2, dropout_rate=0.5, deterministic=not train, name="attention"
        )(x)
        x = nn.Dropout(0.5, deterministic=not train)(nn.LayerNorm(epsilon=1e-5)(x))
        x = jnp.tanh(nn.Conv(6, (3,), name="conv")(x))
        return nn.Dense(3)(x.mean(1))


class Model(nnx.Module):
    def __init__(self, rngs):
        net = nnx.bridge.ToNNX(Net(), rngs=rngs)
        self.net = nnx.bridge.lazy_init(net, jnp.zeros((1, 5), jnp.int32))
        self.deterministic = False  # set by train() and eval()

    def __call__(self, ids):
        return self.net(ids, train=not self.deterministic)


build_model = Model
"""
LIKE_LINEN = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(16, 8)
        self.attention = nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True)
        self.norm, self.drop = nn.LayerNorm(8, eps=1e-5), nn.Dropout(0.5)
        self.conv, self.head = nn.Conv1d(8, 6, 3, padding=1), nn.Linear(6, 3)

    def forward(self, ids):
        x = self.words(ids)
        x = x + self.attention(x, x, x, need_weights=False)[0]
        x = self.conv(self.drop(self.norm(x)).transpose(1, 2))
        return self.head(torch.tanh(x).mean(2))


build_model = Net
"""
RECIPE = """\
version: 2
name: attention
model:
  kind: custom
  factory: {torch: "net_torch:build_model", jax: "net_jax:build_model"}
data: {source: npz, train: rows.npz, eval: rows.npz}
batch: {micro_batch_size: 2}
optimizer: {name: sgd, learning_rate: 0.1}
schedule: {name: constant, total_steps: 1}
"""


def found_in(folder: Path) -> Found:
    for framework in ("torch", "jax"):
        require(framework)
    request = Request(
        recipe=load(str(folder / "recipe.yaml")),
        folder=folder,
        targets=("torch", "jax"),
        rows=None,
        python=pythons("torch", "jax"),
    )
    return match(request)


def unproved(found: Found) -> set[str]:
    places = [entry for entry in found.known.entries if set(entry.places) != {"torch", "jax"}]
    return {entry.name for entry in (*places, *found.known.entries) if not entry.proved}


@pytest.mark.parametrize(
    "example",
    cases(
        ["lstm-forecast", "resnet-cifar", "gpt"],
        quick=["lstm-forecast"],
        reason="example models with other layers",
    ),
)
def test_examples_are_matched_and_proved(tmp_path: Path, example: str) -> None:
    assert unproved(found_in(problem(example, tmp_path))) == set()


def test_attention_is_matched_by_its_layout(tmp_path: Path) -> None:
    """The bias of keys is the same for all queries, which softmax does not see."""
    write_problem(tmp_path, ATTENTION)
    assert {name.rpartition(".")[2] for name in unproved(found_in(tmp_path))} <= {"key"}


def test_a_model_of_linen_is_matched_without_its_dropout(tmp_path: Path) -> None:
    """Its layers are not modules of NNX: they are known by the names of their weights."""
    write_problem(tmp_path, {"torch": LIKE_LINEN, "jax": LINEN})
    assert {name.rpartition(".")[2] for name in unproved(found_in(tmp_path))} <= {"key"}


def write_problem(folder: Path, sources: dict[str, str]) -> None:
    """Write models, rows and a recipe."""
    for framework, source in sources.items():
        (folder / f"net_{framework}.py").write_text(source)
    ids = np.random.default_rng(0).integers(0, 16, (8, 5)).astype(np.int32)
    np.savez(folder / "rows.npz", ids=ids, labels=ids[:, 0] % 3)
    (folder / "recipe.yaml").write_text(RECIPE)
