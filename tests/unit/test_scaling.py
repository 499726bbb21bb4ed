from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscast.plan.loss_scale import ScaleState, adjust, initial
from crosscast.plan.operations import UpdateScale
from crosscast.recipe.float32 import FLOAT32_CEILING
from strategies import update_scales

OP = UpdateScale(
    mode="dynamic", init_scale=64.0, growth_interval=3, hysteresis=2, min_scale=8.0, max_scale=256.0
)


def scales(op: UpdateScale, attempts: str) -> list[float]:
    """The scale after each attempt, `.` for a clean one and `x` for an overflow."""
    return [state.scale for state in walk(op, attempts)]


def walk(op: UpdateScale, attempts: str) -> list[ScaleState]:
    states = []
    state = initial(op)
    for attempt in attempts:
        state = adjust(op, state, finite=attempt == ".")
        states.append(state)
    return states


def test_starts_at_the_initial_scale_with_clear_counters() -> None:
    assert initial(OP) == ScaleState(64.0, good=0, bad=0)


def test_grows_after_exactly_the_interval_every_time() -> None:
    assert scales(OP, "......") == [64, 64, 128, 128, 128, 256]


def test_counters_of_clean_attempts() -> None:
    assert [state.good for state in walk(OP, "....")] == [1, 2, 0, 1]


def test_growth_stops_at_the_maximum_and_the_counter_restarts() -> None:
    assert walk(replace(OP, init_scale=256.0), "...")[-1] == ScaleState(256.0, good=0, bad=0)


def test_growth_beyond_the_maximum_is_cut_to_it() -> None:
    assert scales(replace(OP, max_scale=100.0), "...")[-1] == 100.0


def test_an_overflow_restarts_the_interval() -> None:
    assert scales(OP, "..x..") == [64] * 5
    assert scales(OP, "..x...")[-1] == 128


def test_back_off_needs_the_given_number_of_overflows() -> None:
    assert walk(OP, "x") == [ScaleState(64.0, good=0, bad=1)]
    assert walk(OP, "xx")[-1] == ScaleState(32.0, good=0, bad=0)
    assert scales(OP, "xxxx") == [64, 32, 32, 16]


def test_the_overflows_must_follow_each_other() -> None:
    assert scales(OP, "x.x.xx") == [64, 64, 64, 64, 64, 32]


def test_a_clean_attempt_resets_the_overflow_counter_also_when_it_grows() -> None:
    op = replace(OP, growth_interval=1)
    assert walk(op, "x.")[-1] == ScaleState(128.0, good=0, bad=0)


def test_hysteresis_of_one_backs_off_at_once() -> None:
    assert scales(replace(OP, hysteresis=1), "xx") == [32, 16]


def test_the_floor_is_held_and_the_counter_is_still_cleared() -> None:
    assert walk(replace(OP, init_scale=8.0), "xx")[-1] == ScaleState(8.0, good=0, bad=0)


def test_a_back_off_below_the_floor_ends_on_it() -> None:
    assert scales(replace(OP, init_scale=9.0), "xx")[-1] == 8.0


def test_growth_that_float32_cannot_hold_is_not_done() -> None:
    op = replace(OP, init_scale=2.0**127, max_scale=None, growth_interval=1)
    assert walk(op, "..")[-1] == ScaleState(2.0**127, good=0, bad=0)
    assert scales(replace(op, init_scale=2.0**126), "..") == [2.0**127, 2.0**127]


def test_growth_that_float32_cannot_hold_still_restarts_the_interval() -> None:
    op = replace(OP, init_scale=2.0**127, max_scale=None)
    assert [state.good for state in walk(op, "....")] == [1, 2, 0, 1]


def test_growth_that_float32_cannot_hold_is_not_cut_to_the_maximum_either() -> None:
    op = replace(OP, init_scale=2.0**126, max_scale=2.0**127, growth_interval=1, growth_factor=8.0)
    assert scales(op, ".") == [2.0**126]


def test_growth_to_a_double_infinity_is_not_done() -> None:
    op = replace(OP, init_scale=1e300, max_scale=None, growth_interval=1, growth_factor=1e300)
    assert scales(op, ".") == [1e300]


def test_the_ceiling_is_where_float32_rounds_to_infinity() -> None:
    below = float(np.nextafter(FLOAT32_CEILING, 0.0))
    with np.errstate(over="ignore"):
        assert np.isinf(np.float32(FLOAT32_CEILING))
    assert np.isfinite(np.float32(below))
    op = replace(OP, max_scale=None, growth_interval=1, growth_factor=2.0)
    assert scales(replace(op, init_scale=below / 2), ".") == [float(np.float32(below))]
    assert scales(replace(op, init_scale=FLOAT32_CEILING / 2), ".") == [FLOAT32_CEILING / 2]


CUMULATIVE = replace(OP, hysteresis_mode="cumulative")


def test_cumulative_overflows_need_not_follow_each_other() -> None:
    assert scales(CUMULATIVE, "x.x") == [64, 64, 32]


def test_after_the_first_back_off_every_overflow_is_one_until_growth() -> None:
    # As DeepSpeed and Megatron with hysteresis 2: 64, 32, 16.
    assert scales(CUMULATIVE, "xxx") == [64, 32, 16]
    assert scales(CUMULATIVE, "xx...xx") == [64, 32, 32, 32, 64, 64, 32]


def test_growth_refills_the_cumulative_count() -> None:
    assert [state.bad for state in walk(CUMULATIVE, "x..x...")] == [1, 1, 1, 1, 1, 1, 0]


def test_both_modes_are_one_with_a_hysteresis_of_one() -> None:
    for attempts in ("xx", "x...x.x", "...x"):
        node, other = (replace(op, hysteresis=1) for op in (OP, CUMULATIVE))
        assert walk(node, attempts) == walk(other, attempts)


@pytest.mark.parametrize("attempts", ["xxxxxx", "......", "x.x.x."])
def test_a_static_scale_never_moves_and_never_counts(attempts: str) -> None:
    op = replace(OP, mode="static", growth_interval=1, hysteresis=1)
    assert set(walk(op, attempts)) == {ScaleState(64.0)}


@given(update_scales(mode="dynamic"), st.text(".x", max_size=60))
def test_bounds_and_counters_hold_on_any_path(op: UpdateScale, attempts: str) -> None:
    for state in walk(op, attempts):
        assert op.min_scale <= state.scale
        assert op.max_scale is None or state.scale <= op.max_scale
        assert 0 <= state.good < op.growth_interval
        assert 0 <= state.bad < op.hysteresis
        assert not (state.good and state.bad) or op.hysteresis_mode == "cumulative"


@given(update_scales(mode="dynamic"), st.text(".x", max_size=60))
def test_agrees_with_the_pseudo_code_written_out(op: UpdateScale, attempts: str) -> None:
    scale, good, bad, seen = op.init_scale, 0, 0, []
    cumulative = op.hysteresis_mode == "cumulative"
    for attempt in attempts:
        if attempt == "x":
            good, bad = 0, bad + 1
            if bad >= op.hysteresis:
                scale = max(float(np.float32(scale * op.backoff_factor)), op.min_scale)
                bad = bad - 1 if cumulative else 0
        else:
            bad, good = bad if cumulative else 0, good + 1
            if good >= op.growth_interval:
                with np.errstate(over="ignore"):
                    good, bad, grown = 0, 0, float(np.float32(scale * op.growth_factor))
                if np.isfinite(grown):
                    scale = grown if op.max_scale is None else min(grown, op.max_scale)
        seen.append(ScaleState(scale, good, bad))
    assert walk(op, attempts) == seen
