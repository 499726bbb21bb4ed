"""Observation of Torch scripts from outside."""

from __future__ import annotations

from typing import ClassVar

import pytest

from frameworks.observe_checks import Observation

pytestmark = pytest.mark.torch


class TestTorch(Observation):
    """The tests of `Observation`."""

    framework: ClassVar[str] = "torch"
    native: ClassVar[bool] = True
    sums: ClassVar[dict[str, int]] = {"linear": 8, "matmul": 2}
