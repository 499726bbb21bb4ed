from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscast.plan.operations import Schedule
from crosscast.plan.schedule import learning_rate
from strategies import schedules

LINEAR = Schedule(
    name="linear", learning_rate=0.5, end_lr=0.0, warmup_steps=4, total_steps=14, tick="update"
)


def rates(op: Schedule, count: int) -> list[float]:
    return [learning_rate(op, position) for position in range(count)]


def test_linear_table_with_warm_up() -> None:
    expected = [0, 0.125, 0.25, 0.375, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0, 0]
    assert rates(LINEAR, 16) == pytest.approx(expected, abs=1e-15)


def test_a_warm_up_may_begin_above_zero() -> None:
    op = replace(LINEAR, warmup_start_lr=0.1)
    assert rates(op, 6) == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.45])


def test_the_usual_loop_by_hand_is_a_warm_up_one_step_shorter() -> None:
    op = replace(LINEAR, name="constant", warmup_steps=4, warmup_start_lr=LINEAR.learning_rate / 5)
    by_hand = [op.learning_rate * min(1.0, (step + 1) / 5) for step in range(9)]
    assert rates(op, 9) == pytest.approx(by_hand)


def test_the_decay_starts_where_the_warm_up_ends() -> None:
    # The other convention, decay over all steps, would give 0.5 * (1 - 4/14) here.
    assert learning_rate(LINEAR, 4) == 0.5


def test_linear_to_an_end_rate() -> None:
    op = replace(LINEAR, warmup_steps=0, total_steps=4, learning_rate=1.0, end_lr=0.2)
    assert rates(op, 6) == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2, 0.2])


def test_cosine_table() -> None:
    op = replace(LINEAR, name="cosine", warmup_steps=0, total_steps=4, learning_rate=1.0)
    half = math.sqrt(0.5)
    expected = [1.0, 0.5 + half / 2, 0.5, 0.5 - half / 2, 0.0]
    assert rates(op, 5) == pytest.approx(expected, abs=1e-15)


def test_cosine_does_not_climb_again_after_the_last_step() -> None:
    op = replace(LINEAR, name="cosine", end_lr=0.1)
    assert {learning_rate(op, position) for position in range(14, 40)} == {0.1}


def test_constant_still_warms_up_and_never_decays() -> None:
    op = replace(LINEAR, name="constant", end_lr=0.1)
    assert rates(op, 4) == [0.0, 0.125, 0.25, 0.375]
    assert {learning_rate(op, position) for position in range(4, 99)} == {0.5}


@pytest.mark.parametrize("total", [4, 3])
@pytest.mark.parametrize("name", ["linear", "cosine"])
def test_nothing_left_after_the_warm_up_gives_the_end_rate(name: str, total: int) -> None:
    op = replace(LINEAR, name=name, total_steps=total, end_lr=0.25)  # type: ignore[arg-type]
    assert rates(op, 6) == [0.0, 0.125, 0.25, 0.375, 0.25, 0.25]


def test_the_fall_of_original_bert_counts_from_the_start() -> None:
    op = replace(LINEAR, decay_from="start", learning_rate=1.0)
    assert rates(op, 6) == pytest.approx([0, 0.25, 0.5, 0.75, 1 - 4 / 14, 1 - 5 / 14])
    assert learning_rate(op, 14) == learning_rate(op, 99) == 0.0


def test_polynomial_table() -> None:
    op = replace(LINEAR, name="polynomial", power=2.0, learning_rate=1.0, end_lr=0.1)
    assert rates(op, 16)[4:] == pytest.approx(
        [0.1 + 0.9 * ((14 - t) / 10) ** 2 for t in range(4, 15)] + [0.1]
    )


def test_polynomial_of_power_one_is_linear() -> None:
    assert rates(replace(LINEAR, name="polynomial"), 16) == rates(LINEAR, 16)


def test_inverse_square_root_counts_in_lengths_of_the_warm_up() -> None:
    op = replace(LINEAR, name="inverse_sqrt", total_steps=64)
    assert [learning_rate(op, t) for t in (4, 16, 64, 65, 999)] == [0.5, 0.25, 0.125, 0.125, 0.125]


def test_without_warm_up_the_first_rate_is_the_full_one() -> None:
    assert learning_rate(replace(LINEAR, warmup_steps=0), 0) == 0.5


def test_the_tick_does_not_enter_the_formula() -> None:
    assert rates(replace(LINEAR, tick="attempt"), 20) == rates(LINEAR, 20)


@given(schedules(), st.integers(0, 40))
def test_rates_stay_between_zero_and_the_peak(op: Schedule, position: int) -> None:
    assert 0.0 <= learning_rate(op, position) <= op.learning_rate * (1 + 1e-12)


@given(schedules())
def test_rates_rise_in_the_warm_up_and_never_after_it(op: Schedule) -> None:
    warm = rates(op, op.warmup_steps)
    late = rates(op, op.total_steps + 5)[op.warmup_steps :]
    assert all(a < b for a, b in pairwise(warm))
    assert all(a >= b - 1e-15 for a, b in pairwise(late))
    ends = {
        "constant": op.learning_rate,
        "inverse_sqrt": learning_rate(op, max(op.warmup_steps, op.total_steps)),
    }
    assert late[-1] == ends.get(op.name, op.end_lr)
