"""The interpreter by hand-computed cases: what each operation does, and what a skip leaves."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from crosscast.plan import operations as ops
from crosscast.reference.interpreter import MicroBatch, run, step
from toy_steps import DYNAMIC, MEAN, RAMP, SGD, W, before, make, mb, row_of, weights

# Normalize and Accumulate


def test_the_mean_over_the_micro_batches_of_the_window() -> None:
    row = row_of(make(), mb(2, 4, loss=3.0), mb(4, 8, loss=5.0))
    assert row.loss == 4.0
    assert row.parameters["w"].tolist() == [1 - 0.5 * 3, 2 - 0.5 * 6]
    assert row.grad_norm == pytest.approx(math.hypot(3, 6))
    assert (row.window, row.n_micro, row.rows, row.updates) == (0, 2, 2, 1)
    assert (row.lr, row.scale, row.skipped, row.good, row.bad) == (0.5, 1.0, False, 0, 0)


def test_the_mean_over_the_rows_of_the_window() -> None:
    plan = make(normalize=replace(MEAN, unit="sample", full=4))
    row = row_of(plan, mb(6, 0, loss=9.0, rows=3), mb(2, 4, loss=3.0, rows=1))
    assert (row.loss, row.rows) == (3.0, 4)
    assert row.parameters["w"].tolist() == [1 - 0.5 * 2, 2 - 0.5 * 1]


@pytest.mark.parametrize(("renormalize", "loss"), [(True, 6.0), (False, 3.0)])
def test_a_short_window_by_micro_batches(renormalize: bool, loss: float) -> None:
    row = row_of(make(normalize=replace(MEAN, renormalize=renormalize)), mb(1, 1, loss=6.0))
    assert row.loss == loss
    assert row.parameters["w"][0] == 1 - 0.5 * loss / 6


@pytest.mark.parametrize(("renormalize", "loss"), [(True, 2.0), (False, 0.75)])
def test_a_short_window_by_rows(renormalize: bool, loss: float) -> None:
    normalize = ops.Normalize(unit="sample", renormalize=renormalize, full=8)
    assert row_of(make(normalize=normalize), mb(1, 1, loss=6.0, rows=3)).loss == loss


def test_gradients_are_summed_in_float32() -> None:
    # 2**24 + 1 + 1 is 2**24 in float32 when added one after the other.
    plan = make(normalize=replace(MEAN, renormalize=False, full=1), optimizer=SGD)
    row = row_of(plan, mb(2**24, 0), mb(1, 0), mb(1, 0))
    assert row.grad_norm == 2.0**24
    assert row.parameters["w"].dtype == np.float32


# Scale, rounding, Unscale


def test_the_scaled_gradient_is_what_gets_rounded() -> None:
    tiny = 2.0**-26  # below the smallest float16
    static = ops.UpdateScale(mode="static", init_scale=1024.0)
    assert row_of(make(dtype="float16"), mb(tiny, 0)).grad_norm == 0.0
    assert row_of(make(dtype="float16", scale=static), mb(tiny, 0)).grad_norm == tiny


def test_dividing_before_backward_avoids_an_overflow_of_half_precision() -> None:
    static = ops.UpdateScale(mode="static", init_scale=2.0**16)
    batches = [mb(1.5, 0)] * 4
    plan = make(dtype="float16", scale=static)
    assert not row_of(plan, *batches).skipped
    undivided = replace(plan, micro=before(plan.micro, ops.Normalize, ops.Accumulate))
    assert row_of(undivided, *batches).skipped


def test_each_micro_batch_is_rounded_on_its_own_and_the_sum_is_not() -> None:
    row = row_of(make(dtype="bfloat16", normalize=replace(MEAN, full=1, renormalize=False)),
              mb(256, 0), mb(1, 0))  # fmt: skip
    assert row.grad_norm == 257.0  # not a bfloat16
    row = row_of(make(dtype="bfloat16"), mb(257, 0))
    assert row.grad_norm == 256.0


def test_the_scale_of_a_window_is_the_one_it_started_with() -> None:
    rows = run(make(scale=DYNAMIC), W, [[mb(1, 1)]] * 5).rows
    assert [row.scale for row in rows] == [8, 8, 16, 16, 32]
    assert [row.good for row in rows] == [1, 0, 1, 0, 1]


# Clip


def test_clip_by_the_global_norm_over_all_parameters() -> None:
    start = {"a": np.zeros(1), "b": np.zeros((1, 1))}
    batch = MicroBatch(1.0, {"a": np.array([3.0]), "b": np.array([[4.0]])}, 1)
    plan = make(clip=ops.Clip(mode="global_norm", limit=1.0, eps=0.25))
    row = run(plan, start, [[batch]]).rows[0]
    assert row.grad_norm == 5.0
    assert row.parameters["a"][0] == pytest.approx(-0.5 * 3 / 5.25)
    assert row.parameters["b"][0, 0] == pytest.approx(-0.5 * 4 / 5.25)


def test_clip_leaves_smaller_gradients_alone() -> None:
    clip = ops.Clip(mode="global_norm", limit=10.0, eps=1e-6)
    assert row_of(make(clip=clip), mb(3, 4)).parameters["w"].tolist() == [-0.5, 0.0]


def test_clip_with_eps_shrinks_at_the_limit_itself() -> None:
    clip = ops.Clip(mode="global_norm", limit=5.0, eps=5.0)
    assert row_of(make(clip=clip), mb(3, 4)).parameters["w"].tolist() == [1 - 0.75, 2 - 1.0]


def test_clip_sees_unscaled_gradients() -> None:
    clip = ops.Clip(mode="global_norm", limit=1.0)
    plain, scaled = (row_of(make(clip=clip, scale=s), mb(3, 4)) for s in (None, DYNAMIC))
    assert scaled.grad_norm == plain.grad_norm == 5.0
    assert scaled.parameters["w"].tolist() == plain.parameters["w"].tolist()


def test_clip_by_value_reports_the_norm_before() -> None:
    row = row_of(make(clip=ops.Clip(mode="value", limit=1.0)), mb(3, -0.5))
    assert row.grad_norm == pytest.approx(math.hypot(3, 0.5))
    assert row.parameters["w"].tolist() == [0.5, 2.25]


def test_a_finite_gradient_whose_norm_overflows_is_clipped_to_zero() -> None:
    row = row_of(make(clip=ops.Clip(mode="global_norm", limit=1.0)), mb(1e30, 0))
    assert row.grad_norm == math.inf
    assert row.parameters["w"].tolist() == [1.0, 2.0]


# Step and Schedule


def test_the_first_rate_is_that_of_position_zero() -> None:
    trace = run(make(schedule=RAMP), W, [[mb(1, 1)]] * 3)
    assert [row.lr for row in trace.rows] == [0.0, 0.125, 0.25]
    assert [w[0] for w in weights(trace)] == [1.0, 0.875, 0.625]


def test_decay_spares_the_roles_named() -> None:
    optimizer = ops.Step(optimizer="adamw", weight_decay=0.5, no_decay=("bias", "layer_norm"))
    start = {name: np.ones(1) for name in ("kernel", "bias", "norm")}
    batch = MicroBatch(0.0, {name: np.zeros(1) for name in start}, 1)
    roles = {"bias": frozenset({"bias"}), "norm": frozenset({"x", "layer_norm"})}
    row = run(make(optimizer=optimizer), start, [[batch]], roles).rows[0]
    assert {n: v.tolist() for n, v in row.parameters.items()} == {
        "kernel": [0.75],
        "bias": [1.0],
        "norm": [1.0],
    }


def test_without_roles_everything_decays() -> None:
    optimizer = ops.Step(optimizer="sgd", weight_decay=1.0, no_decay=("bias",))
    row = row_of(make(optimizer=optimizer), mb(0, 0))
    assert row.parameters["w"].tolist() == [0.5, 1.0]


def test_adam_moments_are_reported_by_name() -> None:
    row = row_of(make(optimizer=ops.Step(optimizer="adam", betas=(0.5, 0.75))), mb(2, 4))
    assert {n: v["w"].tolist() for n, v in row.moments.items()} == {
        "exp_avg": [1.0, 2.0],
        "exp_avg_sq": [1.0, 4.0],
    }


def test_momentum_starts_with_the_first_gradient() -> None:
    trace = run(make(optimizer=ops.Step(optimizer="sgd", momentum=0.5)), W, [[mb(2, 4)]] * 2)
    buffers = [row.moments["momentum_buffer"]["w"].tolist() for row in trace.rows]
    assert buffers == [[2.0, 4.0], [3.0, 6.0]]


def test_sgd_without_momentum_has_no_moments() -> None:
    assert row_of(make(), mb(1, 1)).moments == {}


# A skip


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
def test_a_skip_leaves_everything_but_the_scale(bad: float, optimizer: str) -> None:
    op = ops.Step(optimizer=optimizer, momentum=0.9, weight_decay=0.1)  # type: ignore[arg-type]
    plan = make(optimizer=op, schedule=RAMP, scale=DYNAMIC)
    first = run(plan, W, [[mb(1, 1)], [mb(2, 1)], [mb(1, 1)]])
    state, row = step(plan, first.state, [mb(1, 1), mb(1, bad)])
    assert row.skipped
    assert (row.updates, row.good, row.bad) == (3, 0, 0)
    assert (row.scale, state.scale.scale) == (16.0, 8.0)
    assert state.position == first.state.position == 3
    assert row.lr == 0.375
    assert not math.isfinite(row.grad_norm)
    assert np.array_equal(state.parameters["w"], first.state.parameters["w"])
    for name, tensors in first.state.moments.items():
        assert np.array_equal(state.moments[name]["w"], tensors["w"])
    assert state.gradients == ({},)


def test_the_bias_correction_does_not_count_a_skip() -> None:
    plan = make(optimizer=ops.Step(optimizer="adamw"), scale=DYNAMIC)
    skipping = run(plan, W, [[mb(1, 1)], [mb(math.inf, 1)], [mb(2, 1)]])
    straight = run(plan, W, [[mb(1, 1)], [mb(2, 1)]])
    assert weights(skipping)[-1] == weights(straight)[-1]
    assert [row.updates for row in skipping.rows] == [1, 1, 2]


@pytest.mark.parametrize(
    ("tick", "rates"), [("update", [0, 0, 0.125]), ("attempt", [0, 0.125, 0.25])]
)
def test_the_schedule_ticks_on_a_skip_only_per_attempt(tick: str, rates: list[float]) -> None:
    schedule = replace(RAMP, tick=tick)  # type: ignore[arg-type]
    plan = make(schedule=schedule, scale=DYNAMIC)
    rows = run(plan, W, [[mb(math.nan, 1)], [mb(1, 1)], [mb(1, 1)]]).rows
    assert [row.lr for row in rows] == rates


def test_hysteresis_is_counted_across_windows() -> None:
    plan = make(scale=replace(DYNAMIC, hysteresis=2))
    rows = run(plan, W, [[mb(math.inf, 1)]] * 3).rows
    assert [row.bad for row in rows] == [1, 0, 1]
    assert [row.scale for row in rows] == [8.0, 8.0, 4.0]


def test_a_static_scale_skips_but_stays() -> None:
    plan = make(scale=ops.UpdateScale(mode="static", init_scale=4.0))
    rows = run(plan, W, [[mb(math.inf, 1)], [mb(1, 1)]]).rows
    assert [(row.skipped, row.scale, row.updates) for row in rows] == [(True, 4, 0), (False, 4, 1)]


def test_a_scaled_gradient_beyond_float16_is_an_overflow_and_the_back_off_ends_it() -> None:
    plan = make(dtype="float16", scale=replace(DYNAMIC, init_scale=2.0**16, growth_interval=99))
    rows = run(plan, W, [[mb(3, 1)]] * 3).rows
    assert [row.skipped for row in rows] == [True, True, False]
    assert [row.scale for row in rows] == [2.0**16, 2.0**15, 2.0**14]


def test_a_scaled_gradient_beyond_float32_is_an_overflow() -> None:
    plan = make(scale=replace(DYNAMIC, init_scale=2.0**120))
    assert row_of(plan, mb(1e9, 0)).skipped
    assert not run(plan, W, [[mb(1e9, 0)]], arithmetic="float64").rows[0].skipped


def test_without_a_check_nothing_is_skipped() -> None:
    row = row_of(make(), mb(math.nan, 1))
    assert (row.skipped, row.updates) == (False, 1)
    assert math.isnan(row.parameters["w"][0])


# Several processes


def test_ranks_are_averaged_after_each_summed_its_own() -> None:
    row = run(make(processes=2), W, [[[mb(2, 4, loss=3.0)], [mb(4, 8, loss=5.0)]]]).rows[0]
    assert (row.loss, row.n_micro, row.rows) == (4.0, 2, 2)
    assert row.parameters["w"].tolist() == [1 - 0.5 * 3, 2 - 0.5 * 6]


def test_a_process_without_micro_batches_adds_nothing() -> None:
    two = run(make(processes=2), W, [[[mb(2, 4, loss=3.0)], []]]).rows[0]
    alone = row_of(make(), mb(2, 4, loss=3.0))
    assert (two.loss, two.n_micro) == (alone.loss, alone.n_micro) == (3.0, 1)
    assert two.parameters["w"].tolist() == alone.parameters["w"].tolist()


def test_processes_with_unequal_rows_weigh_by_row() -> None:
    plan = make(processes=2, normalize=replace(MEAN, unit="sample"))
    row = run(plan, W, [[[mb(6, 0, loss=9.0, rows=3)], [mb(2, 4, loss=3.0, rows=1)]]]).rows[0]
    assert row.loss == 3.0
    assert row.parameters["w"].tolist() == [1 - 0.5 * 2, 2 - 0.5 * 1]


@pytest.mark.parametrize("rank", [0, 1])
def test_an_overflow_on_one_process_skips_on_all(rank: int) -> None:
    window = [[mb(1, 1)], [mb(1, 1)]]
    window[rank] = [mb(math.inf, 1)]
    assert run(make(processes=2, scale=DYNAMIC), W, [window]).rows[0].skipped
