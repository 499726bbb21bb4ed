"""Memory of the example problems: traced on PyTorch, measured or planned on the others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crosscast.memory.estimate import estimate
from crosscast.recipe.document import Recipe
from crosscast.recipe.load import load
from crosscast.targets.backend import find_target
from crosscast_parity.memory.processes import measure, trace_model
from crosscast_parity.memory.rows import sample_rows
from crosscast_parity.scaling_law.shapes import Shape
from frameworks.subprocesses import warm
from recipe_texts import recipe_of
from tiers import cases

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("gpt", "lstm-forecast", "resnet-cifar")
ROWS = 48


def tiny(name: str, folder: Path) -> Recipe:
    """Return the recipe of an example with its tiny models, for two micro-batches of `ROWS`."""
    text = (EXAMPLES / name / "recipe.yaml").read_text(encoding="utf-8")
    (folder / "recipe.yaml").write_text(text.replace(":build_model", ":build_tiny"))
    return Shape(1, 2, ROWS).applied(load(str(folder / "recipe.yaml")))


@pytest.mark.torch
@pytest.mark.parametrize("name", cases(NAMES, quick=["resnet-cifar"], reason="more traces"))
def test_an_example_is_traced(name: str, tmp_path: Path) -> None:
    """Batch normalization of resnet-cifar replaces its running variance in every micro-batch."""
    recipe = tiny(name, tmp_path)
    traced = trace_model(recipe, warm("torch"), folder=EXAMPLES / name)
    torch, small = find_target("torch"), Shape(1, 2, 2).applied(recipe)
    many, few = (estimate(of, torch, device="cpu", traced=traced) for of in (recipe, small))
    assert (many.evidence, many.peak_phase) == ("traced", "backward")
    assert many.peak_bytes > few.peak_bytes


NET = """
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 50), nn.Linear(50, 3))

    def forward(self, x):
        return self.layers(x)


def errors(model, batch):
    return (model(batch["x"]) - batch["y"]).abs().mean(1)
"""
LOSSES = {
    "cross_entropy": "{kind: cross_entropy, target: y}",
    "binary_cross_entropy": "{kind: binary_cross_entropy, target: y}",
    "mse": "{kind: mse, target: y}",
    "custom": "{kind: custom, function: {torch: 'net:errors'}}",
}


@pytest.mark.torch
@pytest.mark.parametrize("kind", cases(LOSSES, quick=["custom"], reason="traces with more losses"))
def test_a_model_is_traced_with_the_loss_of_the_recipe(kind: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "train").mkdir()
    np.save(tmp_path / "train" / "x.npy", np.ones((9, 6)))
    classes = np.zeros(9, np.uint8)
    np.save(tmp_path / "train" / "y.npy", classes if kind == "cross_entropy" else np.ones((9, 3)))
    recipe = recipe_of(
        model="{kind: custom, factory: {torch: 'net:Net'}}",
        data="{source: npy, train: train, eval: train}",
        loss=LOSSES[kind],
        optimizer="{name: adamw, learning_rate: 1e-3, no_decay: []}",
    )
    found = trace_model(recipe, warm("torch"), folder=tmp_path)
    assert sum(weight.count for weight in found.weights) == 7 * 50 + 51 * 3
    held = found.forward_end.per_row
    assert held >= 4 * (50 + 3)  # the outputs of both layers


@pytest.mark.parametrize(
    ("target", "name"),
    cases(
        [
            pytest.param("paddle", "gpt", marks=pytest.mark.paddle),  # in float16
            pytest.param("tensorflow", "lstm-forecast", marks=pytest.mark.tensorflow),
            pytest.param("jax", "lstm-forecast", marks=pytest.mark.jax),
        ],
        quick=[("paddle", "gpt")],
        reason="short runs of others; `make test` has test_memory_tensorflow and test_memory_jax",
    ),
)
def test_a_short_run_tells_what_is_known(target: str, name: str, tmp_path: Path) -> None:
    folder = EXAMPLES / name
    recipe = Shape(1, 2, 2).applied(tiny(name, tmp_path))
    rows = sample_rows(recipe, folder)
    found = measure(recipe, target, warm(target), folder=folder, rows=rows)
    sizes = found.sizes
    assert sizes["optimizer"] == 8 * sizes["trained"] > 0
    assert sizes["parameters"] >= 4 * sizes["trained"]
    known = sizes["parameters"] + sizes["optimizer"] + 4 * sizes["trained"]
    assert found.peak_bytes > known
    assert (found.holds_window, found.widened) == (target != "paddle", target == "paddle")
    assert found.planned == (target == "jax")
