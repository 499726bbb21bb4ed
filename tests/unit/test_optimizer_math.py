"""The optimizer formulas against ones written out a second time, per number, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscast.optimizer_math import slot_names, update
from crosscast.plan import Step

Numbers = list[float]


def drive(op: Step, weight: float, gradients: Numbers, rate: float, decayed: bool) -> Numbers:
    """The weight after each update of a single number, by the function under test."""
    value = np.array([weight])
    slots = {name: np.zeros(1) for name in slot_names(op)}
    seen = []
    for t, gradient in enumerate(gradients, start=1):
        g = np.array([gradient])
        value, slots = update(op, value, g, slots, rate=rate * t, t=t, decayed=decayed)
        seen.append(float(value[0]))
    return seen


def adamw(op: Step, w: float, gradients: Numbers, rate: float, decayed: bool) -> Numbers:
    b1, b2 = op.betas
    m = v = 0.0
    seen = []
    for t, g in enumerate(gradients, start=1):
        lr = rate * t
        w -= lr * (op.weight_decay if decayed else 0.0) * w
        m = m * b1 + g * (1 - b1)
        v = v * b2 + g**2 * (1 - b2)
        w -= lr * (m / (1 - b1**t)) / (math.sqrt(v / (1 - b2**t)) + op.eps)
        seen.append(w)
    return seen


def adam(op: Step, w: float, gradients: Numbers, rate: float, decayed: bool) -> Numbers:
    b1, b2 = op.betas
    m = v = 0.0
    seen = []
    for t, raw in enumerate(gradients, start=1):
        g = raw + (op.weight_decay * w if decayed else 0.0)
        m = m * b1 + g * (1 - b1)
        v = v * b2 + g**2 * (1 - b2)
        w -= rate * t * (m / (1 - b1**t)) / (math.sqrt(v / (1 - b2**t)) + op.eps)
        seen.append(w)
    return seen


def sgd(op: Step, w: float, gradients: Numbers, rate: float, decayed: bool) -> Numbers:
    buffer = None
    seen = []
    for t, raw in enumerate(gradients, start=1):
        g = raw + (op.weight_decay * w if decayed else 0.0)
        buffer = g if buffer is None else op.momentum * buffer + g
        w -= rate * t * (g + op.momentum * buffer if op.nesterov else buffer)
        seen.append(w)
    return seen


CASES = [
    (Step(optimizer="adamw", weight_decay=0.1), adamw),
    (Step(optimizer="adamw", weight_decay=0.1, eps=1e-3, betas=(0.5, 0.9)), adamw),
    (Step(optimizer="adam"), adam),
    (Step(optimizer="adam", weight_decay=0.1, eps=1e-3), adam),
    (Step(optimizer="sgd"), sgd),
    (Step(optimizer="sgd", weight_decay=0.1), sgd),
    (Step(optimizer="sgd", momentum=0.9, weight_decay=0.1), sgd),
    (Step(optimizer="sgd", momentum=0.9, nesterov=True, weight_decay=0.1), sgd),
]


@pytest.mark.parametrize(("op", "formula"), CASES)
@given(
    weight=st.floats(-2, 2),
    gradients=st.lists(st.floats(-3, 3), min_size=1, max_size=8),
    rate=st.floats(1e-4, 0.1),
    decayed=st.booleans(),
)
def test_against_the_formula_per_number(
    op: Step,
    formula: Callable[[Step, float, Numbers, float, bool], Numbers],
    weight: float,
    gradients: Numbers,
    rate: float,
    decayed: bool,
) -> None:
    expected = formula(op, weight, gradients, rate, decayed)
    assert drive(op, weight, gradients, rate, decayed) == pytest.approx(
        expected, rel=1e-9, abs=1e-12
    )


def test_first_adamw_update_by_hand() -> None:
    op = Step(optimizer="adamw", weight_decay=0.5, eps=1.0)
    # w = 2 * (1 - 0.1 * 0.5); both bias corrections cancel: m/c1 = 3, sqrt(v/c2) = 3
    assert drive(op, 2.0, [3.0], 0.1, True) == pytest.approx([1.9 - 0.1 * 3 / (3 + 1)])


def test_coupled_and_decoupled_decay_differ() -> None:
    coupled = drive(Step(optimizer="adam", weight_decay=0.1), 1.0, [1.0, -1.0], 0.1, True)
    decoupled = drive(Step(optimizer="adamw", weight_decay=0.1), 1.0, [1.0, -1.0], 0.1, True)
    assert abs(coupled[-1] - decoupled[-1]) > 1e-3


def test_momentum_takes_the_rate_outside_the_buffer() -> None:
    # Rates 0.1 and 0.2: b = 1, then 1.5; a buffer that holds lr*g would give 0.9 - 0.25.
    op = Step(optimizer="sgd", momentum=0.5)
    assert drive(op, 1.0, [1.0, 1.0], 0.1, False) == pytest.approx([0.9, 0.6])


def test_nesterov_looks_ahead_at_the_first_update_already() -> None:
    op = Step(optimizer="sgd", momentum=0.5, nesterov=True)
    assert drive(op, 1.0, [1.0], 0.1, False) == pytest.approx([0.85])


@pytest.mark.parametrize("op", [case[0] for case in CASES])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dtype_is_kept_and_inputs_are_not_changed(op: Step, dtype: str) -> None:
    weight, gradient = np.ones((2, 2), dtype), np.full((2, 2), 0.5, dtype)
    slots = {name: np.full((2, 2), 0.25, dtype) for name in slot_names(op)}
    new, after = update(op, weight, gradient, slots, rate=0.1, t=2, decayed=True)
    assert new.dtype == dtype
    assert all(value.dtype == dtype for value in after.values())
    assert tuple(after) == slot_names(op)
    assert (weight == 1).all()
    assert (gradient == 0.5).all()
    assert all((value == 0.25).all() for value in slots.values())
