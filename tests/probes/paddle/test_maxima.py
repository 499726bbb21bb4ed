"""Why models that are written for Paddle take a maximum along one axis after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.paddle

RIGHT = ["6.0", "1.0"]
"""Two rows of three channels, each with one largest number."""


def test_a_maximum_along_several_axes_of_a_volume_has_a_wrong_derivative() -> None:
    derivatives = run_python(Path(__file__).with_name("maxima.py"), "paddle")
    assert derivatives.pop("axes of a volume") != RIGHT  # once it is right, write it so
    assert derivatives == dict.fromkeys(
        ("one axis after the other", "adaptive", "axes of an image"), RIGHT
    )
