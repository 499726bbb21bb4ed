"""The facts about TensorFlow, found out once in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python


@pytest.fixture(scope="session")
def facts() -> dict[str, Any]:
    found: dict[str, Any] = run_python(Path(__file__).with_name("facts.py"), "tensorflow")
    return found


@pytest.fixture(scope="session")
def keras2() -> dict[str, Any]:
    """The facts about tf_keras, the Keras 2 of newer TensorFlow."""
    program = Path(__file__).with_name("facts_keras2.py")
    found: dict[str, Any] = run_python(program, "tf_keras")
    return found
