"""Paddle still bounds the epsilon of layer_norm."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.paddle


def test_epsilon_above_a_thousandth_is_refused() -> None:
    facts = run_python(Path(__file__).with_name("knobs.py"), "paddle", "layer_norm")
    assert facts["1e-3"] == ""
    assert "epsilon" in facts["2e-3"]
