"""The optimizer formulas against ones written out a second time, per number, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscast.plan.operations import Group, Step
from crosscast.reference.optimizer_formulas import settings_of, slot_shapes, update

Numbers = list[float]


def drive(op: Step, weight: float, gradients: Numbers, rate: float, decayed: bool) -> Numbers:
    """The weight after each update of a single number, by the function under test."""
    value = np.array([weight])
    slots = {name: np.zeros(shape) for name, shape in slot_shapes(op, (1,)).items()}
    decay = op.weight_decay if decayed else 0.0
    seen = []
    for t, gradient in enumerate(gradients, start=1):
        g = np.array([gradient])
        value, slots = update(op, value, g, slots, rate=rate * t, t=t, decay=decay)
        seen.append(float(value[0]))
    return seen


def corrections(op: Step, t: int) -> tuple[float, float]:
    b1, b2 = op.betas
    return (1 - b1**t, 1 - b2**t) if op.bias_correction else (1.0, 1.0)


def direction(op: Step, m: float, v: float, t: int) -> float:
    c1, c2 = corrections(op, t)
    if op.eps_placement == "before_correction":
        return m / c1 / (math.sqrt(v) + op.eps) * math.sqrt(c2)
    return m / c1 / (math.sqrt(v / c2) + op.eps)


def lamb(op: Step, w: float, gradients: Numbers, rate: float, decayed: bool) -> Numbers:
    b1, b2 = op.betas
    m = v = 0.0
    seen = []
    for t, g in enumerate(gradients, start=1):
        m = m * b1 + g * (1 - b1)
        v = v * b2 + g**2 * (1 - b2)
        r = direction(op, m, v, t) + (op.weight_decay if decayed else 0.0) * w
        adapts = op.always_adapt or (decayed and op.weight_decay > 0)
        length, step = math.sqrt(w * w), math.sqrt(r * r)  # both 0 for the tiniest numbers
        trust = length / step if adapts and length and step else 1.0
        w -= rate * t * trust * r
        seen.append(w)
    return seen


def lion(op: Step, w: float, gradients: Numbers, rate: float, decayed: bool) -> Numbers:
    b1, b2 = op.betas
    m = 0.0
    seen = []
    for t, g in enumerate(gradients, start=1):
        c = b1 * m + (1 - b1) * g
        w -= rate * t * ((op.weight_decay if decayed else 0.0) * w + (c > 0) - (c < 0))
        m = b2 * m + (1 - b2) * g
        seen.append(w)
    return seen


def adafactor(op: Step, w: float, gradients: Numbers, rate: float, decayed: bool) -> Numbers:
    v = 0.0
    seen = []
    for t, g in enumerate(gradients, start=1):
        s = t**op.beta2_decay
        v = (1 - s) * v + s * g * g
        u = g / math.sqrt(max(v, op.factored_eps[0] ** 2))
        size = max(op.factored_eps[1], abs(w)) * min(rate * t, t**-0.5)
        w -= rate * t * (op.weight_decay if decayed else 0.0) * w
        w -= size * u / max(1.0, abs(u) / op.clip_threshold)
        seen.append(w)
    return seen


def keras_sgd(op: Step, w: float, gradients: Numbers, rate: float, decayed: bool) -> Numbers:
    b = 0.0
    seen = []
    for t, raw in enumerate(gradients, start=1):
        g = raw + (op.weight_decay * w if decayed else 0.0)
        b = op.momentum * b - rate * t * g
        w += op.momentum * b - rate * t * g if op.nesterov else b
        seen.append(w)
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
        w -= lr * direction(op, m, v, t)
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
        w -= rate * t * direction(op, m, v, t)
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
    (Step(optimizer="adamw", eps=1e-3, eps_placement="before_correction"), adamw),
    (Step(optimizer="adamw", eps=1e-3, bias_correction=False), adamw),
    (
        Step(optimizer="adam", eps=1e-3, eps_placement="before_correction", bias_correction=False),
        adam,
    ),
    (Step(optimizer="lamb", weight_decay=0.1, eps=1e-6), lamb),
    (Step(optimizer="lamb", weight_decay=0.1, bias_correction=False), lamb),
    (Step(optimizer="lamb", weight_decay=0.1, always_adapt=False), lamb),
    (Step(optimizer="lion", weight_decay=0.1, betas=(0.9, 0.99)), lion),
    (Step(optimizer="adafactor", weight_decay=0.1), adafactor),
    (Step(optimizer="adafactor", clip_threshold=2.0, beta2_decay=-0.5), adafactor),
    (Step(optimizer="sgd", momentum=0.9, rate_in_momentum=True, weight_decay=0.1), keras_sgd),
    (Step(optimizer="sgd", momentum=0.9, rate_in_momentum=True, nesterov=True), keras_sgd),
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
    shapes = slot_shapes(op, (2, 2))
    slots = {name: np.full(shape, 0.25, dtype) for name, shape in shapes.items()}
    new, after = update(op, weight, gradient, slots, rate=0.1, t=2, decay=0.1)
    assert new.dtype == dtype
    assert all(value.dtype == dtype for value in after.values())
    assert {name: value.shape for name, value in after.items()} == shapes
    assert (weight == 1).all()
    assert (gradient == 0.5).all()
    assert all((value == 0.25).all() for value in slots.values())


def test_lamb_lengthens_every_parameter_as_a_whole() -> None:
    op = Step(optimizer="lamb", eps=1e-12, bias_correction=False, betas=(0.5, 0.75))
    weight, gradient = np.array([3.0, 4.0]), np.array([1.0, -1.0])
    zeros = {name: np.zeros(2) for name in ("exp_avg", "exp_avg_sq")}
    new, _ = update(op, weight, gradient, zeros, rate=0.1, t=1, decay=0.0)
    # m = 0.5 g, v = 0.25 g*g: r = (1, -1), |w| = 5, |r| = sqrt(2)
    ratio = 5 / math.sqrt(2)
    assert new == pytest.approx([3 - 0.1 * ratio, 4 + 0.1 * ratio])


@pytest.mark.parametrize("weight", [[0.0, 0.0], [3.0, 4.0]])
def test_lamb_does_not_divide_by_a_length_of_zero(weight: list[float]) -> None:
    op = Step(optimizer="lamb")
    zeros = {name: np.zeros(2) for name in ("exp_avg", "exp_avg_sq")}
    gradient = np.zeros(2) if any(weight) else np.ones(2)
    new, _ = update(op, np.array(weight), gradient, zeros, rate=0.1, t=1, decay=0.0)
    assert np.isfinite(new).all()
    assert (new == weight).all() == any(weight)


def test_adafactor_keeps_a_row_and_a_column_of_a_matrix() -> None:
    op = Step(optimizer="adafactor")
    weight, gradient = np.full((2, 3), 2.0), np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])
    slots = {name: np.zeros(shape) for name, shape in slot_shapes(op, (2, 3)).items()}
    assert {name: slot.shape for name, slot in slots.items()} == {
        "row_var": (2, 1),
        "col_var": (1, 3),
    }
    new, after = update(op, weight, gradient, slots, rate=0.01, t=1, decay=0.0)
    rows, columns = (gradient**2).mean(1), (gradient**2).mean(0)  # the first share is 1
    assert after["row_var"].ravel() == pytest.approx(rows)
    assert after["col_var"].ravel() == pytest.approx(columns)
    u = gradient / np.sqrt(np.outer(rows, columns) / rows.mean())
    step = 2.0 * 0.01 / max(1.0, math.sqrt((u**2).mean()))
    assert new == pytest.approx(weight - step * u)


GROUPED = Step(
    optimizer="adamw",
    weight_decay=0.1,
    no_decay=("bias",),
    groups=(
        Group(parameters=("head.*", "*.scale"), rate_factor=10.0),
        Group(parameters=("head.bias", "*"), weight_decay=0.3),
    ),
)


@pytest.mark.parametrize(
    ("name", "roles", "expected"),
    [
        ("head.weight", (), (0.1, 10.0)),
        ("head.bias", ("bias",), (0.0, 10.0)),  # the first group that matches decides
        ("body.scale", (), (0.1, 10.0)),
        ("body.bias", ("bias",), (0.3, 1.0)),  # a decay of the group beats the roles
        ("HEAD.weight", (), (0.3, 1.0)),
    ],
)
def test_the_first_matching_group_decides(
    name: str, roles: tuple[str, ...], expected: tuple[float, float]
) -> None:
    assert settings_of(GROUPED, name, roles) == expected


def test_without_groups_the_roles_decide() -> None:
    op = Step(optimizer="sgd", weight_decay=0.1, no_decay=("bias", "layer_norm"))
    assert settings_of(op, "a", ()) == (0.1, 1.0)
    assert settings_of(op, "a", {"layer_norm"}) == (0.0, 1.0)
