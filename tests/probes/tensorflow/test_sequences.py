"""Masks, missing keys and biases of Keras' layers of sequences are what the tables say."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.tensorflow


def test_masks_keys_and_biases_mean_what_the_tables_say() -> None:
    assert run_python(Path(__file__).with_name("sequence_facts.py"), "tensorflow") == {
        "keys are values": True,
        "true shows": True,
        "numbers are truths": [True, True],
        "nothing is seen": True,  # all keys weigh alike
        "biases": [[20], [2, 15], [5]],
    }
