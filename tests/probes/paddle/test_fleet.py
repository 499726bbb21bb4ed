"""Static graphs of fleet behave as the rows of `paddle@fleet` claim, in Paddle 2.6.

They need the interpreter that CROSSCAST_PADDLE_2_6 names; only the last probe runs without.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import paddle_2, run_python, start

pytestmark = pytest.mark.paddle

PROGRAM = Path(__file__).with_name("fleet_facts.py")
EACH = pytest.mark.parametrize("target", paddle_2())


def fact(target: str, name: str) -> Any:
    return run_python(PROGRAM, target, name)


@EACH
def test_gradient_merge_waits_for_a_full_window(target: str) -> None:
    """Three micro-batches a window: the sum 6 times the rate 0.5; a fourth waits."""
    assert fact(target, "merge") == [1.0, 1.0, -2.0, -2.0]


@EACH
def test_the_scaler_has_a_floor_of_one(target: str) -> None:
    assert fact(target, "floor") == [2.0, 1.0, 1.0, 1.0, 1.0]


@EACH
def test_a_constant_scale_tells_of_no_skip(target: str) -> None:
    assert fact(target, "static")["counters"] == []


@EACH
def test_momentum_coasts_on_overflow(target: str) -> None:
    """Velocity 1, then a half and a quarter of it: the weight moves although nothing is to."""
    assert fact(target, "momentum") == [0.5, 0.25, 0.125]


@EACH
def test_adam_is_skipped_on_overflow(target: str) -> None:
    found = fact(target, "adam")
    first, *others = found["weights"]
    assert first < 0.6
    assert others == [first, first]
    assert found["power"] == [pytest.approx(0.81)]  # of one step


@EACH
def test_the_stock_clip_adds_nothing_to_the_norm(target: str) -> None:
    assert fact(target, "clip") == 0.5


@EACH
def test_amp_computes_in_float32_on_cpu(target: str) -> None:
    assert fact(target, "types") == []


@EACH
def test_the_lists_leave_the_product_alone_in_half(target: str) -> None:
    """As a build for GPUs decides; a cast takes its result back to float32."""
    assert fact(target, "types-gpu") == ["cast", "matmul_v2", "matmul_v2_grad"]


def test_the_newest_paddle_does_not_build_them() -> None:
    """Why the dialect stays with Paddle 2: the day this fails, look again."""
    done = start(PROGRAM, "paddle", "adam")
    assert done.returncode == 1
    assert "TypeError: clone(): incompatible function arguments" in done.stderr
