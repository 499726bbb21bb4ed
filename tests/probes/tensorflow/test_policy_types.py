"""A mixed policy of Keras stores what the tables of lint's rules say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crosscast_reading.pysource.libraries.precision_tables import Lookup
from crosscast_tensorflow.words.mixed_precision import MIXED_PRECISION
from frameworks.subprocesses import run_python

pytestmark = pytest.mark.tensorflow

HALVES = ("float16", "bfloat16")


@pytest.fixture(scope="module")
def types() -> dict[str, Any]:
    program = Path(__file__).with_name("policy_types.py")
    found: dict[str, Any] = run_python(program, "tensorflow", *HALVES)
    return found


@pytest.mark.parametrize("half", HALVES)
def test_operations_store_what_their_row_says(types: dict[str, Any], half: str) -> None:
    lookup = Lookup(MIXED_PRECISION)
    rows = {name: lookup.named(name) for name in types[half]}
    assert all(rows.values())
    stored = {"half": half, "input": half, "float32": "float32"}
    assert types[half] == {name: stored[row.stores] for name, row in rows.items() if row}
    assert {row.kind for row in rows.values() if row} == {
        row.kind for row in MIXED_PRECISION.operations
    }
