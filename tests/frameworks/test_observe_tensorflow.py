"""Observation of TensorFlow scripts from outside."""

from __future__ import annotations

from typing import ClassVar

import pytest

from frameworks.observe_checks import Observation

pytestmark = pytest.mark.tensorflow


class TestTensorFlow(Observation):
    """The tests of `Observation`."""

    framework: ClassVar[str] = "tensorflow"
    native: ClassVar[bool] = True
    one_loss: ClassVar[bool] = True
    sums: ClassVar[dict[str, int]] = {"bias_add": 8, "matmul": 4, "tensordot": 6}
