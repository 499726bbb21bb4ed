"""Masks, dropout, missing values and biases of Flax's layers are what the tables say."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.jax


def test_masks_dropout_and_biases_mean_what_the_tables_say() -> None:
    assert run_python(Path(__file__).with_name("sequence_facts.py"), "jax") == {
        "values are keys": True,
        "true shows": True,
        "numbers are truths": True,
        "rows share dropout": [True, False],
        "biases": {
            "LSTMCell": [False, True],
            "OptimizedLSTMCell": [False, True],
            "GRUCell": [True, False],
            "SimpleCell": [True, False],
        },
    }
