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
