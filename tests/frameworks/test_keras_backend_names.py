"""The table of `keras.backend` holds in the installed Keras."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.tensorflow


def test_every_name_is_where_the_table_says() -> None:
    assert run_python(Path(__file__).parent / "run_keras_backend_names.py", "tensorflow") == []
