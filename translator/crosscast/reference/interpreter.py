"""The reference interpreter: runs a Plan with NumPy, operation by operation, in its own order.

It defines the meaning of a plan. Functions are pure: they take a state and return a new one, and no
array of the caller is changed or kept.

    trace = run(plan, {"w": w0}, windows)
    [row.loss for row in trace.rows]
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from crosscast.plan import loss_scale
from crosscast.plan.operations import AllReduce, Ema, Plan, Step, UpdateScale
from crosscast.reference.data import (
    Arithmetic,
    Array,
    DataRow,
    Forward,
    MicroBatch,
    Roles,
    State,
    Tensors,
    Trace,
    WindowWork,
    Work,
    by_process,
    frozen,
    unfit,
)
from crosscast.reference.operations import Attempt, Micro, perform
from crosscast.reference.optimizer_formulas import slot_shapes

__all__ = [
    "DataRow",
    "Forward",
    "MicroBatch",
    "State",
    "Trace",
    "initial",
    "resume",
    "run",
    "step",
]


def initial(plan: Plan, parameters: Tensors, arithmetic: Arithmetic = "float32") -> State:
    """Return the state before the first window: copied parameters, zero moments."""
    update_scale, optimizer = plan.find(UpdateScale), plan.find(Step)
    weights = {name: frozen(value, arithmetic) for name, value in parameters.items()}
    moments: dict[str, dict[str, Array]] = {}
    for name, value in weights.items():
        shapes = slot_shapes(optimizer, value.shape) if optimizer else {}
        for slot, shape in shapes.items():
            moments.setdefault(slot, {})[name] = frozen(np.zeros(shape), arithmetic)
    return State(
        arithmetic=arithmetic,
        parameters=weights,
        moments=moments,
        ema=weights if plan.find(Ema) else {},
        scale=loss_scale.initial(update_scale) if update_scale else loss_scale.ScaleState(1.0),
    )


def run(
    plan: Plan,
    parameters: Tensors,
    windows: Iterable[WindowWork],
    roles: Roles | None = None,
    arithmetic: Arithmetic = "float32",
) -> Trace:
    """Run a plan from fresh optimizer state over all windows.

    Args:
        plan: The training step. It need not be valid: a wrong order gives a wrong result.
        parameters: Starting weights by name.
        windows: Micro-batches of each window, or micro-batches of each window for every process.
        roles: Roles of the parameters, for `Step.no_decay`; none if omitted.
        arithmetic: Dtype of everything that is not rounded to half precision. `float64` is for
            tests of formulas, without float32 overflow of scaled gradients.

    Raises:
        DiagnosticError: CC805 if the plan cannot be run at all, such as a backward pass that has
            no forward pass before it; CC806 if batches and plan do not match.
    """
    return resume(plan, initial(plan, parameters, arithmetic), windows, roles)


def resume(
    plan: Plan, state: State, windows: Iterable[WindowWork], roles: Roles | None = None
) -> Trace:
    """Run a plan over more windows, continuing from `state`."""
    rows = []
    for window in windows:
        state, row = step(plan, state, window, roles)
        rows.append(row)
    return Trace(tuple(rows), state)


def step(
    plan: Plan, state: State, window: WindowWork, roles: Roles | None = None
) -> tuple[State, DataRow]:
    """Run one window and return the state after it and the trace row."""
    work = by_process(window)
    attempt = _attempt(plan, state, work, roles or {})
    with np.errstate(all="ignore"):  # overflow and nan are part of the meaning
        for rank, micro_batches in enumerate(work):
            attempt.rank = rank
            for item in micro_batches:
                unit = attempt.number(1.0)
                attempt.micro = Micro(item, loss=unit, factor=unit)
                for op in plan.micro:
                    perform(attempt, op)
        for op in plan.window:
            perform(attempt, op)
    after = _state_after(state, attempt)
    return after, _row(state, attempt, after)


def _attempt(plan: Plan, state: State, work: tuple[tuple[Work, ...], ...], roles: Roles) -> Attempt:
    reduce = plan.find(AllReduce)
    if reduce is not None and reduce.processes != len(work):
        message = f"the plan is for {reduce.processes} processes, the window for {len(work)}"
        raise unfit(message)
    if state.gradients and len(state.gradients) != len(work):
        raise unfit("the number of processes changed between two windows")
    return Attempt(
        plan=plan,
        roles=roles,
        arithmetic=state.arithmetic,
        n_micro=sum(len(rank) for rank in work),
        rows=sum(item.rows for rank in work for item in rank),
        tokens=sum(item.rows if item.tokens is None else item.tokens for r in work for item in r),
        parameters=state.parameters,
        moments=dict(state.moments),
        ema=state.ema,
        updates=state.updates,
        position=state.position,
        scale=state.scale,
        sums=[dict(gradient) for gradient in state.gradients or ({},) * len(work)],
        losses=[0.0] * len(work),
    )


def _state_after(state: State, attempt: Attempt) -> State:
    def keep(tensors: Tensors) -> Tensors:
        return {name: frozen(value, state.arithmetic) for name, value in tensors.items()}

    return State(
        arithmetic=state.arithmetic,
        parameters=keep(attempt.parameters),
        moments={slot: keep(tensors) for slot, tensors in attempt.moments.items()},
        ema=keep(attempt.ema),
        scale=attempt.scale,
        window=state.window + 1,
        updates=attempt.updates,
        position=attempt.position,
        gradients=tuple(keep(sum_) for sum_ in attempt.sums),
    )


def _row(before: State, attempt: Attempt, after: State) -> DataRow:
    return DataRow(
        window=before.window,
        n_micro=attempt.n_micro,
        rows=attempt.rows,
        tokens=attempt.tokens,
        loss=float(sum(attempt.losses) / len(attempt.losses)),
        lr=attempt.rate,
        grad_norm=attempt.norm,
        scale=before.scale.scale,
        skipped=not attempt.finite,
        updates=after.updates,
        good=after.scale.good,
        bad=after.scale.bad,
        parameters=after.parameters,
        moments=after.moments,
        ema=after.ema,
    )
