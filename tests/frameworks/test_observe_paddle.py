"""Observation of Paddle scripts from outside."""

from __future__ import annotations

from typing import ClassVar

import pytest

from frameworks.observe_checks import Observation

pytestmark = pytest.mark.paddle


class TestPaddle(Observation):
    """The tests of `Observation`."""

    framework: ClassVar[str] = "paddle"
    native: ClassVar[bool] = False
    sums: ClassVar[dict[str, int]] = {"linear": 8, "matmul": 2}
