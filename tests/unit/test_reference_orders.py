"""Operations in another order: each case is a bug that real training scripts have."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from crosscast.plan import operations as ops
from crosscast.reference.interpreter import run
from toy_steps import DYNAMIC, RAMP, SGD, W, before, make, mb, row_of


def test_clipping_before_unscaling_shrinks_the_update() -> None:
    plan = make(clip=ops.Clip(mode="global_norm", limit=5.0), scale=DYNAMIC)
    wrong = replace(plan, window=before(plan.window, ops.Clip, ops.Unscale))
    assert row_of(plan, mb(3, 4)).parameters["w"].tolist() == [-0.5, 0.0]
    row = row_of(wrong, mb(3, 4))
    assert row.grad_norm == 40.0
    assert row.parameters["w"].tolist() == pytest.approx([1 - 1.5 / 8, 2 - 2 / 8])


def test_value_clipping_before_unscaling_hides_an_overflow() -> None:
    plan = make(clip=ops.Clip(mode="value", limit=1.0), scale=DYNAMIC)
    wrong = replace(plan, window=before(plan.window, ops.Clip, ops.Unscale))
    assert row_of(plan, mb(math.inf, 1)).skipped
    row = row_of(wrong, mb(math.inf, 1))
    assert (row.skipped, row.good) == (False, 1)
    assert row.parameters["w"][0] == 1 - 0.5 / 8


def test_checking_before_the_reduction_misses_the_other_process() -> None:
    plan = make(processes=2, scale=DYNAMIC)
    wrong = replace(plan, window=before(plan.window, ops.CheckFinite, ops.AllReduce))
    row = run(wrong, W, [[[mb(1, 1)], [mb(math.inf, 1)]]]).rows[0]
    assert not row.skipped
    assert not np.isfinite(row.parameters["w"]).all()


def test_checking_after_the_step_is_too_late() -> None:
    plan = make(scale=DYNAMIC)
    wrong = replace(plan, window=before(plan.window, ops.Step, ops.CheckFinite))
    row = row_of(wrong, mb(math.nan, 1))
    assert (row.skipped, row.updates) == (True, 1)
    assert math.isnan(row.parameters["w"][0])


def test_advancing_the_schedule_first_is_one_step_off() -> None:
    plan = make(schedule=RAMP)
    wrong = replace(plan, window=before(plan.window, ops.Schedule, ops.Step))
    assert (row_of(plan, mb(1, 1)).lr, row_of(wrong, mb(1, 1)).lr) == (0.0, 0.125)


def test_updating_the_scale_first_unscales_by_another_one() -> None:
    plan = make(scale=replace(DYNAMIC, growth_interval=1))
    wrong = replace(plan, window=before(plan.window, ops.UpdateScale, ops.Unscale))
    assert row_of(plan, mb(3, 4)).grad_norm == 5.0
    assert row_of(wrong, mb(3, 4)).grad_norm == 2.5


def test_normalizing_after_backward_only_changes_the_reported_loss() -> None:
    plan = make()
    wrong = replace(plan, micro=before(plan.micro, ops.Backward, ops.Normalize))
    right, row = (row_of(p, mb(2, 4), mb(2, 4)) for p in (plan, wrong))
    assert row.loss == right.loss
    assert row.grad_norm == 2 * right.grad_norm


def test_scaling_after_backward_shrinks_the_gradients() -> None:
    plan = make(scale=DYNAMIC)
    wrong = replace(plan, micro=before(plan.micro, ops.Backward, ops.Scale))
    assert row_of(wrong, mb(3, 4)).grad_norm == 5.0 / 8


def test_zero_before_the_step_trains_nothing() -> None:
    plan = make(optimizer=ops.Step(optimizer="sgd", momentum=0.5))
    wrong = replace(plan, window=before(plan.window, ops.Zero, ops.Clip))
    row = row_of(wrong, mb(3, 4))
    assert (row.grad_norm, row.updates) == (0.0, 1)
    assert row.parameters["w"].tolist() == [1.0, 2.0]


def test_zero_in_the_micro_part_keeps_only_the_last_micro_batch() -> None:
    plan = make()
    wrong = ops.Plan(micro=before((*plan.micro, ops.Zero()), ops.Zero, ops.Accumulate),
                     window=plan.window)  # fmt: skip
    assert row_of(wrong, mb(30, 40), mb(6, 8)).grad_norm == 5.0


def test_without_zero_gradients_are_carried_into_the_next_window() -> None:
    plan = make()
    leaking = replace(plan, window=plan.window[:-1])
    assert [r.grad_norm for r in run(leaking, W, [[mb(3, 4)]] * 3).rows] == [5, 10, 15]
    assert [r.grad_norm for r in run(plan, W, [[mb(3, 4)]] * 3).rows] == [5, 5, 5]


def test_a_step_per_micro_batch_is_not_an_accumulation() -> None:
    plan = make()
    wrong = ops.Plan(micro=(*plan.micro, SGD), window=tuple(o for o in plan.window if o != SGD))
    assert row_of(wrong, mb(1, 1), mb(1, 1)).updates == 2


def test_without_reduction_the_first_process_goes_its_own_way() -> None:
    plan = make(processes=2)
    wrong = replace(plan, window=plan.window[1:])
    row = run(wrong, W, [[[mb(2, 4)], [mb(200, 400)]]]).rows[0]
    assert row.parameters["w"].tolist() == [1 - 0.5 * 2, 2 - 0.5 * 4]
