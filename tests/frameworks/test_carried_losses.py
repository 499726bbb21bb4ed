"""Losses that become a function have the numbers of the library's loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from crosscast_migrate.losses import ROWS, function_text
from frameworks.subprocesses import TESTS, run_python
from tiers import cases

PROGRAM = TESTS / "frameworks" / "run_carried_losses.py"


def one_hot(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    logs = outputs - np.log(np.exp(outputs).sum(-1, keepdims=True))
    return np.asarray(-(targets * logs).sum(-1))


def smooth(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    size = abs(outputs - targets)
    return np.asarray(np.where(size < 1, size**2 / 2, size - 0.5).mean(-1))


WANTED: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "l1": lambda outputs, targets: abs(outputs - targets).mean(-1),
    "smooth_l1": smooth,
    "one_hot": one_hot,
    "one_hot_probabilities": one_hot,
}


@pytest.mark.parametrize(
    "framework",
    cases(["torch", "tensorflow", "paddle", "jax"], ["torch"], "losses in every framework"),
)
def test_a_function_has_the_numbers_of_the_loss(framework: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    x, labels = (3 * rng.normal(size=(5, 4)), rng.uniform(size=(5, 4)))
    np.savez(tmp_path / "rows.npz", x=x.astype(np.float32), labels=labels.astype(np.float32))
    assert {name for name, row in ROWS.items() if row.kind == "custom"} == WANTED.keys()
    for name in WANTED:
        (tmp_path / f"{name}.py").write_text(function_text(name, framework))
    found = run_python(PROGRAM, framework, framework, tmp_path)
    for name, wanted in WANTED.items():
        np.testing.assert_allclose(found[name], wanted(x, labels), rtol=1e-4)
