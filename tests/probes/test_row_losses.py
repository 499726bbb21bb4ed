"""Losses of rows, their factors and the order of their arguments are what the tables say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from crosscast_migrate.models.installed import model_tables
from frameworks.subprocesses import run_python

_OF_KERAS_2 = "keras.losses.mse"
"""A name that programs of older releases have, and the installed package does not."""
Row = tuple[str, str, str, float, bool]


def rows(backend: str) -> Iterator[Row]:
    """Yield the functions of a framework: name, role, kind, factor, whether labels come first."""
    reading = model_tables()[backend].reading
    assert reading is not None
    yield from ((name, "mean", "", 1.0, False) for name in sorted(reading.means))
    yield from (
        (name, "difference", kind, 1.0, False) for name, kind in reading.differences.items()
    )
    for name, (kind, factor) in reading.row_losses.items():
        yield name, "loss", kind, factor, reading.labels_first


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(name, marks=getattr(pytest.mark, name))
        for name in ("torch", "tensorflow", "paddle", "jax")
    ],
)
def test_losses_of_rows_are_what_the_tables_say(backend: str) -> None:
    program = Path(__file__).with_name("row_losses.py")
    wrong = run_python(program, backend, json.dumps(list(rows(backend))))
    assert set(wrong) <= {f"there is no {_OF_KERAS_2}"}
