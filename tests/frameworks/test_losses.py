"""The losses of emitted PyTorch and Paddle scripts, against NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frameworks.emitted_script import emit
from frameworks.loss_cases import CASES, LossCase
from frameworks.script_runs import Run, calls
from frameworks.subprocesses import paddle_2, run_python
from tiers import cases

pytestmark = [pytest.mark.torch, pytest.mark.paddle, pytest.mark.jax]
FRAMEWORKS = ("torch", "paddle")

MODELS = {
    "torch": """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return (self.factor * x).reshape(len(x), *{shape})


build_model = Net
""",
    "paddle": """
import paddle
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        ones = nn.initializer.Constant(1.0)
        self.factor = self.create_parameter([1], default_initializer=ones)

    def forward(self, x):
        return (self.factor * x).reshape([len(x), *{shape}])


build_model = Net
""",
    "jax": """
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.factor = nnx.Param(jnp.ones(()))

    def __call__(self, x):
        return (self.factor[...] * x).reshape(len(x), *{shape})


build_model = Net
""",
}
LOSSES = """
def absolute_errors(model, batch):
    errors = (model(x=batch["x"]) - batch["y"]).abs()
    return errors.flatten(1).mean(1)


def mean_error(model, batch):
    return absolute_errors(model, batch).mean()


def token_errors(model, batch):
    errors = (model(x=batch["x"]) - batch["y"]).abs()
    return errors * (batch["y"] + 100).abs().clip(0, 1)  # 0 for a label of -100


def squares(model, batch):
    outputs = model(x=batch.pop("x"))
    if outputs.ndim < 3:
        return (outputs ** 2).mean(-1)
    return (outputs ** 2).mean(-1) * (batch["y"] + 100.0).abs().clip(0, 1)


def positive(model, batch):
    outputs = model(x=batch["x"])
    if outputs.ndim < 3:
        return outputs.sum(-1) > 0
    return (outputs.sum(-1) > 0) & (batch["y"] != -100)
"""


def written(case: LossCase, folder: Path, target: str) -> Path:
    """Write a script with its model, its losses and its rows; return its folder."""
    emit(case.recipe(), target, folder)
    model = MODELS[target.partition("@")[0]]
    (folder / "my_model.py").write_text(model.format(shape=case.outputs))
    (folder / "my_losses.py").write_text(LOSSES)
    np.savez(folder / "rows.npz", **case.rows())  # type: ignore[arg-type]
    return folder


@pytest.fixture(scope="module", params=[*FRAMEWORKS, *paddle_2()])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the scripts of all cases compute."""
    folder = tmp_path_factory.mktemp("losses")
    for name, case in CASES.items():
        written(case, folder / name, request.param)
    program = Path(__file__).with_name("run_losses.py")
    return run_python(program, request.param, folder)


@pytest.mark.parametrize("name", CASES)
def test_a_micro_batch_has_the_loss_of_the_formula(found: dict[str, Any], name: str) -> None:
    case = CASES[name]
    losses = case.expected(case.rows())
    wanted = losses.mean() if case.unit == "microbatch" else losses.sum()
    assert found[name]["loss"] == pytest.approx(wanted, rel=2e-6)


@pytest.mark.parametrize("name", CASES)
def test_an_evaluation_is_the_mean_of_the_losses(found: dict[str, Any], name: str) -> None:
    case = CASES[name]
    rows = case.rows()
    losses = case.expected(rows)
    target = rows[case.loss.get("target", "labels")] if case.unit == "token" else losses
    count = np.count_nonzero(target != -100)
    assert found[name]["eval"]["loss"] == pytest.approx(losses.sum() / count, rel=2e-6)
    right = "accuracy" in found[name]["eval"]
    assert right == (case.loss["kind"] == "cross_entropy")


WITH_METRICS = [name for name, case in CASES.items() if case.metrics]


@pytest.mark.parametrize("name", WITH_METRICS)
def test_an_evaluation_has_the_mean_of_a_metric(found: dict[str, Any], name: str) -> None:
    case, reported = CASES[name], found[name]["eval"]
    wanted = case.metrics_of(case.rows())
    assert {name: reported[name] for name in wanted} == pytest.approx(wanted, rel=2e-6)


def test_a_loss_of_the_user_is_called(found: dict[str, Any]) -> None:
    rows = CASES["own"].rows()
    wanted = np.abs(rows["x"] - rows["y"]).mean(1).sum()
    assert found["own"]["loss"] == pytest.approx(wanted, rel=2e-6)


def trained(folder: Path, framework: str, name: str, **arrays: np.ndarray) -> Run:
    """Train the script of a case on its rows, some of them replaced; return the run."""
    script = written(CASES[name], folder, framework)
    np.savez(folder / "rows.npz", **(CASES[name].rows() | arrays))  # type: ignore[arg-type]
    rows = folder / "rows.npz"
    flags = ("--train", rows, "--eval", rows, "--windows", 3, "--device", "cpu")
    (run,) = calls(script / "train.py", framework, [(folder / "out", flags)])
    return run


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_script_trains_with_another_loss(tmp_path: Path, framework: str) -> None:
    run = trained(tmp_path, framework, "mse of vectors")
    assert run.code == 0, run.stderr
    assert len(run.trace) == 3
    assert list(run.status["eval"]) == ["loss"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    "name", cases(["mse of numbers", "binary"], quick=["binary"], reason="shapes of another loss")
)
def test_shapes_that_would_be_broadcast_are_refused(
    tmp_path: Path, name: str, framework: str
) -> None:
    targets = CASES[name].rows()["y"][..., None]
    run = trained(tmp_path, framework, name, y=targets)
    assert "ValueError" in run.traceback
    assert "outputs" in run.traceback


def test_rows_without_the_target_are_refused(tmp_path: Path) -> None:
    script = written(CASES["mse of vectors"], tmp_path, "torch")
    np.savez(tmp_path / "rows.npz", x=np.zeros((6, 4), np.float32))
    rows = tmp_path / "rows.npz"
    flags = ("--train", rows, "--eval", rows, "--device", "cpu")
    (run,) = calls(script / "train.py", "torch", [(tmp_path / "out", flags)])
    run.refused("needs `y` and arrays of equal length")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_scalar_is_not_one_number_per_row(tmp_path: Path, framework: str) -> None:
    folder = written(CASES["metrics"], tmp_path, framework)
    (folder / "my_losses.py").write_text(LOSSES.replace(".mean(-1)", ".mean()"))
    rows = folder / "rows.npz"
    flags = ("--train", rows, "--eval", rows, "--windows", 1, "--device", "cpu")
    (run,) = calls(folder / "train.py", framework, [(tmp_path / "out", flags)])
    assert "squares returned" in run.traceback
    assert "not one number per row" in run.traceback


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_scalar_is_not_one_loss_per_row(tmp_path: Path, framework: str) -> None:
    folder = written(CASES["own"], tmp_path, framework)
    (folder / "my_losses.py").write_text(LOSSES.replace(".mean(1)", ".mean()"))
    rows = folder / "rows.npz"
    flags = ("--train", rows, "--eval", rows, "--device", "cpu")
    (run,) = calls(folder / "train.py", framework, [(tmp_path / "out", flags)])
    assert "not one loss per row" in run.traceback


@pytest.mark.parametrize("module", ["jax", "nnx"])
def test_a_loss_that_is_compiled_apart_from_its_model_is_refused(
    tmp_path: Path, module: str
) -> None:
    folder = written(CASES["own"], tmp_path, "jax")
    losses = LOSSES.replace(".abs()", "").replace(
        "errors.flatten(1).mean(1)", "(errors**2).mean(1)"
    )
    decorated = f"import jax\nfrom flax import nnx\n\n\n@{module}.jit{losses}"
    (folder / "my_losses.py").write_text(decorated)
    rows = folder / "rows.npz"
    flags = ("--train", rows, "--eval", rows, "--windows", 1, "--device", "cpu")
    (run,) = calls(folder / "train.py", "jax", [(tmp_path / "out", flags)])
    if module == "jax":
        assert "jax.jit loses what own_losses changes in the model" in run.traceback
    else:
        assert not run.traceback, run.traceback
