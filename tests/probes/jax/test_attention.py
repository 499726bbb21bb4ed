"""Attention that is computed again keeps what the rows of the JAX backend claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import run_python

pytestmark = pytest.mark.jax


def test_attention_computed_again_keeps_no_scores() -> None:
    facts: dict[str, Any] = run_python(Path(__file__).with_name("facts.py"), "jax", "jax")
    scores, inputs = [2, 3, 7, 7], [2, 7, 3, 5]
    composed, again = facts["kept"]
    assert scores in composed
    assert again == [inputs]
