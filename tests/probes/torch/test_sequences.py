"""Masks, encoders and recurrent layers of PyTorch are what the tables and the guide say."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.torch


def test_masks_and_arguments_mean_what_the_tables_say() -> None:
    assert run_python(Path(__file__).with_name("sequence_facts.py"), "torch") == {
        "true hides keys": True,
        "true hides pairs": True,
        "numbers are added": True,
        "true shows heads": True,
        "nothing is seen": [True, 0.0],  # the layer, with its weights, and the function
        "layers start alike": True,
        "padding in evaluation": [True, 0.0, True],
        "gelu is exact": True,
        "by place": [[1, True, True, 0.0, False]] * 2,
    }
