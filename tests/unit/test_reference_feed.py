"""What goes into the interpreter: batches, states, and what it refuses."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.plan import operations as ops
from crosscast.reference.data import Tensors, WindowWork
from crosscast.reference.interpreter import Forward, MicroBatch, initial, resume, run, step
from crosscast.reference.operations import HANDLERS
from toy_steps import DYNAMIC, RAMP, W, before, make, mb, row_of, weights

# Gradients that depend on the parameters, resuming, purity


def quadratic(rows: int = 1) -> Forward:
    """Loss 0.5 * |w|**2, gradient w."""

    def evaluate(parameters: Tensors) -> MicroBatch:
        w = parameters["w"]
        return MicroBatch(float(0.5 * np.sum(w * w)), {"w": w}, rows)

    return Forward(rows, evaluate)


def test_forward_meets_the_current_parameters() -> None:
    trace = run(make(), W, [[quadratic()]] * 3)
    assert weights(trace) == [[0.5, 1.0], [0.25, 0.5], [0.125, 0.25]]
    assert [row.loss for row in trace.rows] == [2.5, 0.625, 0.15625]


def test_forward_cannot_change_the_parameters() -> None:
    def vandal(parameters: Tensors) -> MicroBatch:
        parameters["w"][0] = 9.0
        return mb(1, 1)

    with pytest.raises(ValueError, match="read-only"):
        run(make(), W, [[Forward(1, vandal)]])


def test_resuming_gives_the_run_without_a_break() -> None:
    plan = make(optimizer=ops.Step(optimizer="adamw"), schedule=RAMP, scale=DYNAMIC)
    feed: list[WindowWork] = [
        [mb(1, 2)],
        [mb(math.inf, 0)],
        [quadratic()],
        [mb(3, 1)],
        [quadratic()],
    ]
    whole = run(plan, W, feed)
    head = run(plan, W, feed[:2])
    tail = resume(plan, head.state, feed[2:])
    assert [row.window for row in whole.rows] == [0, 1, 2, 3, 4]
    assert weights(whole) == weights(head) + weights(tail)
    keys = ("window", "lr", "scale", "good", "updates", "loss")
    assert [[getattr(row, key) for key in keys] for row in whole.rows[2:]] == [
        [getattr(row, key) for key in keys] for row in tail.rows
    ]


def test_inputs_are_neither_changed_nor_kept() -> None:
    start = {"w": np.array([1.0, 2.0], dtype=np.float32)}
    batch = mb(3.0, 4.0)
    plan = make(optimizer=ops.Step(optimizer="adam"), scale=DYNAMIC)
    state = initial(plan, start)
    after, row = step(plan, state, [batch, batch])
    assert start["w"].tolist() == [1.0, 2.0]
    assert batch.gradients["w"].tolist() == [3.0, 4.0]
    start["w"][:] = 7.0
    assert state.parameters["w"].tolist() == [1.0, 2.0]
    assert step(plan, state, [batch, batch])[1].parameters["w"].tolist() == (
        row.parameters["w"].tolist()
    )
    with pytest.raises(ValueError, match="read-only"):
        after.parameters["w"][0] = 1.0


def test_scalars_are_parameters_too() -> None:
    batch = MicroBatch(1.0, {"w": np.array(2.0)}, 1)
    row = run(make(scale=DYNAMIC, dtype="float16"), {"w": np.array(1.0)}, [[batch]] * 2).rows[1]
    assert row.parameters["w"].shape == ()
    assert float(row.parameters["w"]) == -1.0


# What cannot be run


@dataclass(frozen=True, slots=True, kw_only=True)
class Average(ops.Op):
    kind = "average"


def code_of(plan: ops.Plan, window: WindowWork, start: Tensors = W) -> str:
    with pytest.raises(DiagnosticError) as caught:
        run(plan, start, [window])
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code


def test_every_operation_has_a_handler() -> None:
    assert set(HANDLERS) == set(ops.OPS)


def test_an_unknown_operation_is_refused() -> None:
    plan = make()
    assert code_of(replace(plan, window=(*plan.window, Average())), [mb(1, 1)]) == "CC805"


@pytest.mark.parametrize("op", [ops.Normalize, ops.Scale, ops.Backward, ops.Accumulate])
def test_work_on_a_loss_that_does_not_exist_yet_is_refused(op: type[ops.Op]) -> None:
    plan = make(scale=DYNAMIC)
    wrong = replace(plan, micro=before(plan.micro, op, ops.Autocast))
    assert code_of(wrong, [mb(1, 1)]) == "CC805"


def test_accumulating_before_backward_is_refused_also_for_the_second_micro_batch() -> None:
    plan = make()
    wrong = replace(plan, micro=before(plan.micro, ops.Accumulate, ops.Backward))
    assert code_of(wrong, [mb(1, 1), mb(1, 1)]) == "CC805"


def test_a_step_without_a_schedule_has_no_rate() -> None:
    plan = make()
    window = tuple(op for op in plan.window if not isinstance(op, ops.Schedule))
    assert code_of(replace(plan, window=window), [mb(1, 1)]) == "CC805"


@pytest.mark.parametrize(
    "window",
    [
        [],
        [[]],
        [mb(1, 1, rows=0)],
        [mb(1, 1), [mb(1, 1)]],
        [["loss"]],
        [[mb(1, 1)], [mb(1, 1)]],
        [mb(1, 1, 1)],
        [MicroBatch(1.0, {}, 1)],
        [MicroBatch(1.0, {"w": np.ones(2), "v": np.ones(2)}, 1)],
    ],
    ids=["empty", "no work", "no rows", "mixed", "text", "processes", "shape", "none", "more"],
)
def test_batches_that_do_not_fit_are_refused(window: WindowWork) -> None:
    plan = make(processes=3) if len(window) == 2 and isinstance(window[0], list) else make()
    assert code_of(plan, window) == "CC806"


def test_one_process_where_the_plan_has_two_is_refused() -> None:
    assert code_of(make(processes=2), [mb(1, 1)]) == "CC806"


def test_the_number_of_processes_cannot_change_while_gradients_are_carried() -> None:
    plan = replace(make(), window=make().window[:-1])
    with pytest.raises(DiagnosticError, match="changed between two windows"):
        run(plan, W, [[mb(1, 1)], [[mb(1, 1)], [mb(1, 1)]]])


def test_a_plan_without_clip_or_step_reports_no_norm_and_no_rate() -> None:
    plan = ops.Plan(micro=make().micro, window=(ops.Zero(),))
    row = row_of(plan, mb(1, 1))
    assert math.isnan(row.grad_norm)
    assert math.isnan(row.lr)
    assert row.parameters["w"].tolist() == [1.0, 2.0]
