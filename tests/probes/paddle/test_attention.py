"""Fused attention of stock Paddle is what the rows of the Paddle backend claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import paddle_2, run_python

pytestmark = pytest.mark.paddle

PROGRAM = Path(__file__).with_name("attention_facts.py")


def test_fused_attention_is_the_formula() -> None:
    apart: dict[str, Any] = run_python(PROGRAM, "paddle", "formula")
    for name in ("plain", "evaluation", "dropped"):  # a mask has one line for all tokens and heads
        assert apart[name] < 1e-6, name
    assert apart["dropped is plain"] > 0.01


def test_the_cpu_has_no_attention_in_half() -> None:
    assert run_python(PROGRAM, "paddle", "half") is False


@pytest.mark.parametrize("target", paddle_2())
def test_paddle_2_has_no_masked_attention_on_cpu(target: str) -> None:
    assert run_python(PROGRAM, target, "masked")
    assert not run_python(PROGRAM, "paddle", "masked")
