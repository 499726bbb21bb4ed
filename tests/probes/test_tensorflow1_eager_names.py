"""The tables for Keras programs of TensorFlow 1 agree with the installed TensorFlow."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.tensorflow

PROGRAM = Path(__file__).parent / "read_eager_names.py"


def test_every_row_holds() -> None:
    assert run_python(PROGRAM, "tensorflow") == []
