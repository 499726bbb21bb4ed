"""Recurrent layers of Paddle need two biases that are trained: with one, a cell is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.paddle


def test_a_layer_needs_the_gradients_of_two_biases_and_a_cell_does_not() -> None:
    facts = run_python(Path(__file__).with_name("recurrent_facts.py"), "paddle")
    assert "shall not be nullptr" in facts["error"]
    assert facts["gradient"]
    assert facts["kept"] == [True, 0.0]
