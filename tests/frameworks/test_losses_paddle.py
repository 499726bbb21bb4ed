"""The losses of emitted Paddle scripts, against NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frameworks.emitted_script import emit
from frameworks.loss_cases import CASES, LossCase
from frameworks.script_runs import Run, calls
from frameworks.subprocesses import paddle_2, run_python

pytestmark = pytest.mark.paddle

MODEL = """
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
"""
LOSSES = """
def absolute_errors(model, batch):
    errors = (model(x=batch["x"]) - batch["y"]).abs()
    return errors.flatten(1).mean(1)


def mean_error(model, batch):
    return absolute_errors(model, batch).mean()
"""


def written(case: LossCase, folder: Path, target: str = "paddle") -> Path:
    """Write a script with its model, its losses and its rows; return its folder."""
    emit(case.recipe(), target, folder)
    (folder / "my_model.py").write_text(MODEL.format(shape=case.outputs))
    (folder / "my_losses.py").write_text(LOSSES)
    np.savez(folder / "rows.npz", **case.rows())  # type: ignore[arg-type]
    return folder


@pytest.fixture(scope="module", params=["paddle", *paddle_2()])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the scripts of all cases compute."""
    folder = tmp_path_factory.mktemp("losses")
    for name, case in CASES.items():
        written(case, folder / name, request.param)
    program = Path(__file__).with_name("run_losses_paddle.py")
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
    count = np.count_nonzero(rows["labels"] != -100) if case.unit == "token" else len(losses)
    assert found[name]["eval"]["loss"] == pytest.approx(losses.sum() / count, rel=2e-6)
    right = "accuracy" in found[name]["eval"]
    assert right == (case.loss["kind"] == "cross_entropy")


def trained(folder: Path, name: str, **arrays: np.ndarray) -> Run:
    """Train the script of a case on its rows, some of them replaced; return the run."""
    case = CASES[name]
    script = written(case, folder)
    np.savez(folder / "rows.npz", **(case.rows() | arrays))  # type: ignore[arg-type]
    rows = folder / "rows.npz"
    flags = ("--train", rows, "--eval", rows, "--windows", 3, "--device", "cpu")
    (run,) = calls(script / "train.py", "paddle", [(folder / "out", flags)])
    return run


def test_a_script_trains_with_another_loss(tmp_path: Path) -> None:
    run = trained(tmp_path, "mse of vectors")
    assert run.code == 0, run.stderr
    assert len(run.trace) == 3
    assert list(run.status["eval"]) == ["loss"]


@pytest.mark.parametrize("name", ["mse of numbers", "binary"])
def test_shapes_that_would_be_broadcast_are_refused(tmp_path: Path, name: str) -> None:
    targets = CASES[name].rows()["y"][..., None]
    run = trained(tmp_path, name, y=targets)
    assert "ValueError: outputs" in run.traceback
    assert "but targets" in run.traceback
