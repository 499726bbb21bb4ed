"""Rows that a JAX model picks from a weight are a lookup, however it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.jax
WIDE, HALF = ["float32>float32"], ["bfloat16>bfloat16"]
EXPECTED = {
    "layer": WIDE,
    "indexed": WIDE,
    "variable": WIDE,
    "cast and indexed": HALF,
    "cast and taken": HALF,
    "taken by name": WIDE,
    "columns taken": [],
    "picked": [],
    "one row": [],
    "sliced": [],
    "computed": [],
}


def test_rows_picked_from_a_weight_are_a_lookup() -> None:
    assert run_python(Path(__file__).with_name("run_jax_lookups.py"), "jax") == EXPECTED
