"""The interpreter by hand-computed cases, second part: tokens, half weights, scopes, averages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crosscast.plan import operations as ops
from crosscast.reference.data import Tensors
from crosscast.reference.interpreter import Forward, MicroBatch, run
from toy_steps import DYNAMIC, MEAN, SGD, W, make, mb

TOKENS = ops.Normalize(unit="token", renormalize=True, full=8)
TWO = {"w": np.array([3.0, 4.0]), "norm": np.array([6.0])}
ROLES = {"norm": frozenset({"layer_norm"})}


def labelled(gradient: float, tokens: int, loss: float = 1.0) -> MicroBatch:
    return MicroBatch(loss, {"w": np.array([gradient, 0.0])}, rows=4, tokens=tokens)


def pair(w: tuple[float, float], norm: float) -> MicroBatch:
    return MicroBatch(1.0, {"w": np.array(w), "norm": np.array([norm])}, rows=1)


# tokens


def test_the_mean_over_the_labels_of_the_window() -> None:
    batches = [labelled(6.0, 1, loss=9.0), labelled(2.0, 3, loss=3.0)]
    row = run(make(normalize=TOKENS), W, [batches]).rows[0]
    assert (row.loss, row.tokens, row.rows) == (3.0, 4, 8)
    assert row.grad_norm == 2.0


def test_tokens_are_rows_where_nothing_else_is_said() -> None:
    row = run(make(normalize=TOKENS), W, [[mb(8.0, 0, rows=4)]]).rows[0]
    assert (row.tokens, row.grad_norm) == (4, 2.0)


def test_a_window_without_labels_is_divided_by_one() -> None:
    row = run(make(normalize=TOKENS), W, [[labelled(0.0, 0, loss=0.0)]]).rows[0]
    assert (row.loss, row.tokens, row.grad_norm, row.updates) == (0.0, 0, 0.0, 1)


def test_tokens_of_all_processes_count() -> None:
    plan = make(normalize=TOKENS, processes=2)
    row = run(plan, W, [[[labelled(6.0, 1)], [labelled(2.0, 3)]]]).rows[0]
    assert (row.tokens, row.grad_norm) == (4, 2.0)


# half weights and half sums


def full(dtype: ops.Dtype, sums: ops.Dtype = "float32") -> ops.Plan:
    plan = make(dtype=dtype, normalize=replace(MEAN, full=1, renormalize=False))
    micro = tuple(
        replace(op, weights=dtype)
        if isinstance(op, ops.Autocast)
        else replace(op, dtype=sums)
        if isinstance(op, ops.Accumulate)
        else op
        for op in plan.micro
    )
    return ops.Plan(micro=micro, window=plan.window)


def test_the_model_sees_half_weights_and_the_masters_stay_float32() -> None:
    seen: list[Tensors] = []

    def work(parameters: Tensors) -> MicroBatch:
        seen.append(parameters)
        return MicroBatch(1.0, {n: np.zeros(v.shape) for n, v in parameters.items()}, 1)

    start = {"w": np.array([1 + 2.0**-10]), "norm": np.array([1 + 2.0**-10])}
    trace = run(full("bfloat16"), start, [[Forward(1, work)]], ROLES)
    assert seen[0]["w"].tolist() == [1.0]
    assert seen[0]["norm"].tolist() == [1 + 2.0**-10]  # a normalization layer is never half
    assert trace.rows[0].parameters["w"].tolist() == [1 + 2.0**-10]


def test_small_updates_add_up_in_the_masters() -> None:
    # Each step moves w by 2**-11, which a bfloat16 weight near 1 would lose every time.
    plan = full("bfloat16")
    feed = [[mb(2.0**-10, 0)]] * 4
    assert run(plan, W, feed).state.parameters["w"][0] == 1 - 4 * 2.0**-11


@pytest.mark.parametrize(("sums", "norm"), [("float32", 257.0), ("bfloat16", 256.0)])
def test_the_type_of_the_sum(sums: ops.Dtype, norm: float) -> None:
    row = run(full("bfloat16", sums), W, [[mb(256, 0), mb(1, 0)]]).rows[0]
    assert row.grad_norm == norm


def test_a_half_sum_can_overflow_where_a_float32_sum_does_not() -> None:
    feed = [[mb(40000, 0), mb(40000, 0)]]
    assert np.isfinite(run(full("float16"), W, feed).rows[0].grad_norm)
    assert np.isinf(run(full("float16", "float16"), W, feed).rows[0].grad_norm)


def test_gradients_of_normalization_layers_are_summed_in_float32() -> None:
    plan = full("bfloat16", "bfloat16")
    feed = [[pair((0, 0), 256), pair((0, 0), 1)]]
    assert run(plan, TWO, feed, ROLES).rows[0].grad_norm == 257.0


# clipping


def clipped(clip: ops.Clip) -> tuple[float, list[float], list[float]]:
    """Norm and applied gradients of (3, 4) and (12,)."""
    row = run(make(clip=clip), TWO, [[pair((3, 4), 12)]], ROLES).rows[0]
    moved = {name: (TWO[name] - row.parameters[name]) / 0.5 for name in TWO}
    return row.grad_norm, moved["w"].tolist(), moved["norm"].tolist()


def test_each_parameter_by_its_own_norm() -> None:
    clip = ops.Clip(mode="per_param_norm", limit=6.0)
    assert clipped(clip) == (13.0, [3.0, 4.0], [6.0])


def test_each_parameter_by_its_own_norm_with_an_epsilon() -> None:
    norm, w, _ = clipped(ops.Clip(mode="per_param_norm", limit=5.0, eps=5.0))
    assert norm == 13.0
    assert w == pytest.approx([1.5, 2.0])


@pytest.mark.parametrize(
    ("clip", "expected"),
    [
        (ops.Clip(mode="global_norm", limit=2.5, exempt=("layer_norm",)), (5, [1.5, 2], [12])),
        (ops.Clip(mode="per_param_norm", limit=2.5, exempt=("layer_norm",)), (5, [1.5, 2], [12])),
        (ops.Clip(mode="value", limit=3.5, exempt=("layer_norm",)), (5, [3, 3.5], [12])),
        (ops.Clip(mode="value", limit=3.5, exempt=("bias",)), (13, [3, 3.5], [3.5])),
    ],
    ids=str,
)
def test_exempt_parameters_are_neither_clipped_nor_counted(
    clip: ops.Clip, expected: tuple[float, list[float], list[float]]
) -> None:
    assert clipped(clip) == expected


# groups


def test_a_group_has_a_rate_and_a_decay_of_its_own() -> None:
    group = ops.Group(parameters=("no*",), weight_decay=0.5, rate_factor=2.0)
    step = replace(SGD, weight_decay=0.0, groups=(group,))
    row = run(make(optimizer=step), TWO, [[pair((1, 1), 1)]]).rows[0]
    assert row.parameters["w"].tolist() == [2.5, 3.5]
    assert row.parameters["norm"].tolist() == [6 - 0.5 * 2 * (1 + 0.5 * 6)]
    assert row.lr == 0.5


# averages


def averaged(decay: float, scale: ops.UpdateScale | None = None) -> ops.Plan:
    plan = make(scale=scale)
    at = next(i for i, op in enumerate(plan.window) if isinstance(op, ops.Step)) + 1
    window = (*plan.window[:at], ops.Ema(decay=decay), *plan.window[at:])
    return ops.Plan(micro=plan.micro, window=window)


def test_the_average_starts_as_the_weights_and_follows_every_update() -> None:
    rows = run(averaged(0.75), W, [[mb(4, 0)], [mb(4, 0)]]).rows
    assert [row.parameters["w"][0] for row in rows] == [-1.0, -3.0]
    assert [row.ema["w"][0] for row in rows] == [0.5, 0.75 * 0.5 - 0.75]


def test_a_skipped_window_leaves_the_average() -> None:
    plan = averaged(0.75, replace(DYNAMIC, init_scale=1.0, min_scale=0.5))
    rows = run(plan, W, [[mb(4, 0)], [mb(np.inf, 0)]]).rows
    assert [row.skipped for row in rows] == [False, True]
    assert np.array_equal(rows[1].ema["w"], rows[0].ema["w"])


def test_without_the_operation_there_is_no_average() -> None:
    assert run(make(), W, [[mb(1, 0)]]).rows[0].ema == {}
