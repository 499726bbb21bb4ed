"""Paddle's cross-entropy on CPU still ends at 64, as docs/reference/emitted-scripts.md says."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.paddle


def test_the_loss_of_a_row_ends_at_64_and_its_gradient_does_not_change() -> None:
    facts = run_python(Path(__file__).with_name("facts.py"), "paddle", "loss")
    assert facts["losses"] == [50.0, 64.0, 64.0]
    assert facts["gradient"] == [[-1.0, 1.0]] * 3


def test_a_mean_counts_labels_that_a_negative_index_ignores() -> None:
    facts = run_python(Path(__file__).with_name("facts.py"), "paddle", "loss")
    assert facts["ignored"] == [0.5, 1.0]  # in Paddle 2 both are 1: lift --run, CM325
