"""What layers of Flax NNX do in one of several processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.jax


def test_statistics_are_those_of_the_rows_at_hand() -> None:
    """Without an axis to reduce over, BatchNorm knows the rows of its call only."""
    facts: dict[str, Any] = run_python(Path(__file__).with_name("facts.py"), "jax", "flax")
    assert facts["axis"] is None
    assert facts["statistics"] == [2.0, 4.0]


def test_processes_have_the_options_that_launched_scripts_set() -> None:
    facts: dict[str, Any] = run_python(Path(__file__).with_name("facts.py"), "jax", "jax")
    assert {"jax_enable_preemption_service", "jax_enable_recoverability"} <= set(facts["options"])
