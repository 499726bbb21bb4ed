"""Masks and missing values of Paddle's attention are what the tables say."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.paddle


def test_masks_and_missing_values_mean_what_the_tables_say() -> None:
    assert run_python(Path(__file__).with_name("sequence_facts.py"), "paddle") == {
        "values are queries": True,
        "true shows": True,
        "whole numbers are truths": True,
        "numbers are added": True,
        "layers start alike": False,
        "gelu is exact": True,
    }
