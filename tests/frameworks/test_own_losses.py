"""Own loss functions that differ are named, with their values; so are gradients that are cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.recipe.document import Recipe
from crosscast.weights.writer import text_of as weights_text
from crosscast_parity.modules.command import Result, compare_with
from crosscast_parity.modules.gradients import NO_GRADIENT, PART_OF_GRADIENT
from crosscast_parity.modules.losses import LOSS, TAIL
from crosscast_parity.modules.report import text_of
from crosscast_parity.toy.worker import Worker
from crosscast_parity.weights.command import Request, processes_of
from crosscast_parity.weights.search import search
from crosscast_parity.weights.workers import workers_of
from frameworks.emitted_script import tiny_recipe
from frameworks.names import FRAMEWORKS, MARKS, QUICK
from frameworks.subprocesses import pythons, require
from tiers import cases, selected

pytestmark = MARKS
MICRO = 6
PROGRAMS = {
    "torch": """
import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 5)
        self.fc = nn.Linear(5, 5)
        nn.init.zeros_(self.fc.bias)

    def forward(self, ids):
        hidden = torch.tanh(self.fc(self.table(ids)))
        return hidden @ self.table.weight.t()


def build():
    return Net()


def losses(model, batch):
    logits, labels = model(batch["ids"]), batch["labels"]
    return F.cross_entropy(logits, labels, reduction="none")
""",
    "tensorflow": """
import keras
import numpy as np
import tensorflow as tf
from keras import ops


class Net(keras.Model):
    def __init__(self):
        super().__init__(name="net")
        self.table = keras.layers.Embedding(7, 5, name="table")
        self.fc = keras.layers.Dense(5, name="fc")

    def call(self, ids):
        hidden = ops.tanh(self.fc(self.table(ids)))
        return ops.matmul(hidden, ops.transpose(self.table.embeddings))


def build():
    model = Net()
    model(np.zeros((1,), np.int64))
    return model


def losses(model, batch):
    logits, labels = model(batch["ids"]), batch["labels"]
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
""",
    "jax": """
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.table = nnx.Embed(7, 5, rngs=rngs)
        self.fc = nnx.Linear(5, 5, rngs=rngs)

    def __call__(self, ids):
        hidden = jnp.tanh(self.fc(self.table(ids)))
        return hidden @ self.table.embedding[...].T


def build(rngs):
    return Net(rngs)


def losses(model, batch):
    logits, labels = model(batch["ids"]), batch["labels"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels)
""",
    "paddle": """
import paddle
from paddle import nn
from paddle.nn import functional as F


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 5)
        self.fc = nn.Linear(5, 5)

    def forward(self, ids):
        hidden = paddle.tanh(self.fc(self.table(ids)))
        return paddle.matmul(hidden, self.table.weight, transpose_y=True)


def build():
    return Net()


def losses(model, batch):
    logits, labels = model(batch["ids"]), batch["labels"]
    return F.cross_entropy(logits, labels, reduction="none")
""",
}


@dataclass(frozen=True)
class Plant:
    """A change of one framework's program, what it is called, and words that are said of it."""

    name: str
    framework: str
    old: str
    new: str
    kind: str
    words: str


ENTROPY = {
    "jax": "optax.softmax_cross_entropy_with_integer_labels(logits, labels)",
    "torch": 'F.cross_entropy(logits, labels, reduction="none")',
    "tensorflow": "tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)",
    "paddle": 'F.cross_entropy(logits, labels, reduction="none")',
}
SHORT = f"if len(labels) == {MICRO} or len(labels) == 4 else len(labels) / {MICRO}"
"""A mistake in the short window; the first comparison is with four rows."""


def _loss(name: str, framework: str, new: str, kind: str = LOSS) -> Plant:
    words = "the same with a micro-batch" if kind == TAIL else "all modules are the same"
    return Plant(f"{framework} {name}", framework, ENTROPY[framework], new, kind, words)


PLANTS = (
    _loss(
        "label smoothing",
        "paddle",
        "F.cross_entropy(logits, F.label_smooth(F.one_hot(labels, 7)),"
        ' soft_label=True, reduction="none").reshape([-1])',
    ),
    _loss("scaled", "tensorflow", f"2 * {ENTROPY['tensorflow']}"),
    _loss("other reduction", "torch", "F.cross_entropy(logits, labels).expand(len(labels))"),
    *(
        _loss("short window", name, f"{ENTROPY[name]} * (1.0 {SHORT})", TAIL)
        for name in ("torch", "paddle", "jax")
    ),
    _loss("short window", "tensorflow", f"{ENTROPY['tensorflow']} * (1.0 {SHORT})", TAIL),
    Plant(
        "torch detached tied table",
        "torch",
        "self.table.weight.t()",
        "self.table.weight.detach().t()",
        PART_OF_GRADIENT,
        "torch: table.weight",
    ),
    Plant(
        "paddle detached tied table",
        "paddle",
        "(hidden, self.table.weight,",
        "(hidden, self.table.weight.detach(),",
        PART_OF_GRADIENT,
        "paddle: table.weight",
    ),
    Plant(
        "tensorflow detached tied table",
        "tensorflow",
        "ops.transpose(self.table.embeddings)",
        "ops.stop_gradient(ops.transpose(self.table.embeddings))",
        PART_OF_GRADIENT,
        "tensorflow: net/table/embeddings",
    ),
    Plant(
        "jax detached tied table",
        "jax",
        "self.table.embedding[...].T",
        "jax.lax.stop_gradient(self.table.embedding[...]).T",
        PART_OF_GRADIENT,
        "jax: table.embedding",
    ),
    Plant(
        "paddle dense layer without gradient",
        "paddle",
        "self.fc(self.table(ids))",
        "paddle.matmul(self.table(ids), self.fc.weight.detach()) + self.fc.bias",
        NO_GRADIENT,
        "paddle: fc.weight",
    ),
)
REWRITES = (
    Plant(
        "jax by hand and compiled",
        "jax",
        f"return {ENTROPY['jax']}",
        "return of_logits(logits, labels)\n\n\n@jax.jit\ndef of_logits(logits, labels):\n"
        "    return -jnp.take_along_axis(nnx.log_softmax(logits), labels[:, None], 1)[:, 0]",
        "",
        "",
    ),
    Plant(
        "torch by hand",
        "torch",
        ENTROPY["torch"],
        "F.nll_loss(logits.log_softmax(-1), labels, reduction='none')",
        "",
        "",
    ),
    Plant(
        "tensorflow by hand",
        "tensorflow",
        ENTROPY["tensorflow"],
        "-tf.gather(tf.nn.log_softmax(logits), labels, axis=1, batch_dims=1)",
        "",
        "",
    ),
)


class Lab:
    """A process for each framework, in which all programs run."""

    def __init__(self, folder: Path, frameworks: Sequence[str]) -> None:
        self.folder = folder
        self.workers: Mapping[str, Worker] = workers_of(frameworks, pythons(*frameworks))
        self._maps: dict[tuple[str, ...], str] = {}

    def compare(self, name: str, against: tuple[str, str], plant: Plant | None = None) -> Result:
        """Compare two frameworks' programs, the first as it is and maybe one with a plant."""
        if plant is not None and against not in self._maps:
            clean = self.compare(f"clean {' '.join(against)}", against)
            self._maps[against] = weights_text(clean.known)
        folder = self.folder / name.replace(" ", "_")
        folder.mkdir(exist_ok=True)
        rng = np.random.default_rng(0)
        arrays = {"ids": rng.integers(0, 5, MICRO), "labels": rng.integers(0, 5, MICRO)}
        np.savez(folder / "rows.npz", **arrays)  # type: ignore[arg-type]
        names = {}
        for framework in against:
            text = PROGRAMS[framework]
            if plant is not None and plant.framework == framework:
                assert plant.old in text
                text = text.replace(plant.old, plant.new)
            # Processes import a name once.
            names[framework] = f"{name}_{framework}".replace(" ", "_")
            (folder / f"{names[framework]}.py").write_text(text)
        request = Request(
            recipe=recipe_of(names), folder=folder, targets=against, rows=folder / "rows.npz"
        )
        path = None
        if plant is not None:
            path = folder / "weights.yaml"
            path.write_text(self._maps[against])
        with processes_of(request, {n: self.workers[n] for n in against}) as processes:
            if path is None:
                found = search(processes.describe(), processes)
                path = folder / "weights.yaml"
                path.write_text(weights_text(found.known))
            return compare_with(processes, path, request)


def recipe_of(names: Mapping[str, str]) -> Recipe:
    sections: dict[str, Any] = {
        "model": {"kind": "custom", "factory": {f: f"{n}:build" for f, n in names.items()}},
        "loss": {"kind": "custom", "function": {f: f"{n}:losses" for f, n in names.items()}},
        "data": {"source": "npz", "train": "rows.npz", "eval": "rows.npz"},
        "batch": {"micro_batch_size": MICRO, "global_batch_size": 2 * MICRO},
    }
    return tiny_recipe(**sections)


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    asked = {plant.framework for plant in selected(request, "plant")}
    asked |= {"torch", "paddle", *selected(request, "other")}
    frameworks = [name for name in FRAMEWORKS if name in asked]
    for framework in frameworks:
        require(framework)
    found = Lab(tmp_path_factory.mktemp("losses"), frameworks)
    yield found
    for worker in found.workers.values():
        worker.stop()


def against(plant: Plant) -> tuple[str, str]:
    return ("torch", "paddle" if plant.framework == "torch" else plant.framework)


def of_tier(plants: Sequence[Plant]) -> list[Any]:
    """Return plants, each in its tier."""
    return cases(
        [pytest.param(plant, id=plant.name) for plant in plants],
        [plant for plant in plants if plant.framework in QUICK],
        "own losses of JAX",
    )


@pytest.mark.parametrize("plant", of_tier(PLANTS))
def test_the_loss_or_the_parameter_is_named(plant: Plant, lab: Lab) -> None:
    result = lab.compare(plant.name, against(plant), plant)
    (judgement,) = result.judgements
    shown = "\n".join(text_of(result))
    assert not judgement.same, shown
    kinds = [found.kind for found in judgement.differences if found.certain]
    assert plant.kind in kinds, shown
    named = next(found for found in judgement.differences if found.kind == plant.kind)
    assert plant.words in named.words, shown
    assert ": :" not in shown
    if named.what == "loss":
        assert named.module.endswith(":losses"), shown
        assert "first gradient" not in shown
        assert kinds[0] == plant.kind


@pytest.mark.parametrize("plant", of_tier(REWRITES))
def test_another_spelling_of_a_loss_is_not_accused(plant: Plant, lab: Lab) -> None:
    result = lab.compare(plant.name, against(plant), plant)
    assert result.same, "\n".join(text_of(result))


@pytest.mark.parametrize("other", cases(FRAMEWORKS[1:], QUICK[1:], "own losses of JAX"))
def test_the_programs_are_the_same(other: str, lab: Lab) -> None:
    result = lab.compare(f"same {other}", ("torch", other))
    assert result.same, "\n".join(text_of(result))
