"""With a custom loss the function of the recipe is called, and its losses are the outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast_parity.weights.drawing import projection
from crosscast_parity.weights.rows import rows_of
from crosscast_parity.weights.workers import Processes
from frameworks.emitted_script import tiny_recipe
from frameworks.subprocesses import pythons, require
from tiers import exhaustive

pytestmark = pytest.mark.torch
MODEL = """
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 1)

    def forward(self, x):
        return self.fc(x)[:, 0]


def build_model():
    return Net()
"""
LOSS = """
def losses(model, batch):
    return (model(batch["x"]) - batch["y"]) ** 2
"""


def recipe(loss: str = "own_loss:losses") -> Recipe:
    return tiny_recipe(
        model={"kind": "custom", "factory": {"torch": "own_model:build_model"}},
        loss={"kind": "custom", "function": {"torch": loss}},
    )


def processes(folder: Path, loss: str = "own_loss:losses", **sources: str) -> Processes:
    require("torch")
    for name, text in ({"own_model": MODEL, "own_loss": LOSS} | sources).items():
        (folder / f"{name}.py").write_text(text)
    rng = np.random.default_rng(0)
    np.savez(folder / "rows.npz", x=rng.standard_normal((4, 3)), y=rng.standard_normal(4))
    rows = rows_of(folder / "rows.npz", recipe(loss), 4)
    return Processes(recipe(loss), ["torch"], folder, rows, python=pythons("torch"), timeout=60)


def test_losses_are_the_outputs(tmp_path: Path) -> None:
    with processes(tmp_path) as running:
        models = running.describe()
        assert models[0].outputs == ((4,),)
        weight, bias = np.array([[0.5, -1.0, 2.0]], np.float32), np.array([0.25], np.float32)
        weights = {"torch": {"fc.weight": weight, "fc.bias": bias}}
        found = running.compute(weights, models)["torch"]
    with np.load(tmp_path / "rows.npz") as rows:
        x, y = rows["x"], rows["y"]
    far = x @ weight[0] + bias - y
    assert np.allclose(found.outputs, [far**2], rtol=1e-5)
    factors = 2 * far * projection(0, (4,))
    assert np.allclose(found.gradients["fc.weight"], [factors @ x], rtol=1e-4)
    assert np.allclose(found.gradients["fc.bias"], factors.sum(), rtol=1e-4)


def problem(running: Processes) -> Diagnostic:
    with running, pytest.raises(DiagnosticError) as caught:
        running.describe()
    (found,) = caught.value.diagnostics
    return found


def test_a_loss_function_that_is_missing(tmp_path: Path) -> None:
    found = problem(processes(tmp_path, "own_loss:other"))
    assert (found.code, found.path) == ("CC761", "loss.function.torch")
    assert "the loss function fails: AttributeError" in found.message


@exhaustive("more mistakes in a loss function")
def test_a_module_of_the_loss_function_that_is_missing(tmp_path: Path) -> None:
    found = problem(processes(tmp_path, "no_loss:losses"))
    assert (found.code, found.path) == ("CC761", "loss.function.torch")
    assert found.hint.startswith("modules are searched in ")


def test_a_loss_function_that_fails_is_shown_with_its_place(tmp_path: Path) -> None:
    found = problem(processes(tmp_path, own_loss=LOSS.replace('"y"', '"labels"')))
    assert (found.code, found.path) == ("CC762", "loss.function.torch")
    assert "torch: the loss function fails on rows x float32[4, 3]" in found.message
    assert found.span is not None
    assert (found.span.file, found.span.line) == ("own_loss.py", 3)


@exhaustive("more mistakes in a loss function")
def test_a_model_without_outputs_is_refused(tmp_path: Path) -> None:
    found = problem(processes(tmp_path, own_loss=LOSS.replace("** 2", "> 0")))
    assert found.code == "CC762"
    assert "returns no tensors of floating-point numbers" in found.message


def test_a_loss_without_gradients_is_refused(tmp_path: Path) -> None:
    detached = LOSS.replace("return (", "return ((").replace("** 2", "** 2).detach()")
    with processes(tmp_path, own_loss=detached) as own:
        weights = {"torch": {"fc.weight": np.ones((1, 3), np.float32)}}
        models = own.describe()
        with pytest.raises(DiagnosticError) as caught:
            own.compute(weights, models)
    (found,) = caught.value.diagnostics
    assert (found.code, found.path) == ("CC766", "loss.function.torch")
    assert "the loss function returns nothing that has a gradient" in found.message
