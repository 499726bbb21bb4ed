"""Observation of TensorFlow scripts from outside."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import ClassVar

import pytest

from frameworks.observe_checks import MORE, NATIVE, Observation
from frameworks.subprocesses import run_python

pytestmark = pytest.mark.tensorflow

LATER = MORE | {
    "float-seen",
    "full-seen",
    "lamb-seen",
    "half-after",
    "evaluated_in_float32",
    "loss",
    NATIVE,
}
"""Left to test-all: TensorFlow traces each run, which takes nine seconds, and `make test` has these
in PyTorch and Paddle. Instead of half-after it has half-gaps, which also follows half-seen."""


class TestTensorFlow(Observation):
    """The tests of `Observation`."""

    framework: ClassVar[str] = "tensorflow"
    native: ClassVar[bool] = True
    one_loss: ClassVar[bool] = True
    more: ClassVar[Collection[str]] = LATER
    sums: ClassVar[dict[str, int]] = {"bias_add": 8, "matmul": 4, "tensordot": 6}


def test_a_mean_of_keras_is_one_operation_in_half() -> None:
    """Inside, Keras 3 casts to float32 and back: PyTorch's kernel does the same unseen."""
    for order in run_python(Path(__file__).with_name("run_pooled_keras.py"), "tensorflow"):
        assert ["mean", ["float16"], "float16"] in order
        assert all(output == "float16" for _, _, output in order)
