"""Laws that the interpreter keeps for any Plan, found by changing the input, not the output."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crosscast.plan import operations as ops
from crosscast.reference.interpreter import DataRow, MicroBatch, run
from strategies import ROLES, SHAPES, parameters, plans, windows

seeds = st.integers(0, 50)


def assert_close(row: DataRow, two: DataRow, *, rtol: float = 1e-9) -> None:
    for key in ("loss", "lr", "grad_norm"):
        np.testing.assert_allclose(getattr(row, key), getattr(two, key), rtol=rtol, atol=1e-12)
    assert (row.skipped, row.updates, row.rows) == (two.skipped, two.updates, two.rows)
    for name, value in row.parameters.items():
        np.testing.assert_allclose(value, two.parameters[name], rtol=rtol, atol=1e-12)


def with_normalize(plan: ops.Plan, normalize: ops.Normalize) -> ops.Plan:
    micro = tuple(normalize if isinstance(op, ops.Normalize) else op for op in plan.micro)
    return replace(plan, micro=micro)


def with_scale(plan: ops.Plan, scale: ops.UpdateScale) -> ops.Plan:
    window = tuple(scale if isinstance(op, ops.UpdateScale) else op for op in plan.window)
    return replace(plan, window=window)


def merged(batches: list[MicroBatch], *, mean: bool) -> MicroBatch:
    """The same rows as one micro-batch."""
    by = len(batches) if mean else 1
    gradients = {n: np.sum([b.gradients[n] for b in batches], axis=0) / by for n in SHAPES}
    loss = sum(b.loss for b in batches) / by
    return MicroBatch(loss, gradients, sum(b.rows for b in batches))


@given(plans(processes=1, scaled=False, dtypes=("float32",)), seeds, st.integers(1, 4))
def test_micro_batches_of_a_window_equal_one_large_batch(
    plan: ops.Plan, seed: int, count: int
) -> None:
    normalize = plan.micro[1]
    assert isinstance(normalize, ops.Normalize)
    plan = with_normalize(plan, replace(normalize, renormalize=True))
    feed = [ranks[0] for ranks in windows(seed, micro_batches=count)]
    large = [[merged(window, mean=normalize.unit == "microbatch")] for window in feed]
    small, made = (run(plan, parameters(), f, ROLES, "float64") for f in (feed, large))
    for a, b in zip(small.rows, made.rows, strict=True):
        assert_close(a, b)


@given(plans(processes=1, dtypes=("float32",)), seeds, st.integers(2, 3))
def test_processes_equal_that_many_times_the_accumulation(
    plan: ops.Plan, seed: int, processes: int
) -> None:
    feed = windows(seed, processes=processes)
    flat = [[batch for rank in ranks for batch in rank] for ranks in feed]
    parallel = replace(plan, window=(ops.AllReduce(processes=processes), *plan.window))
    many = run(parallel, parameters(), feed, ROLES, "float64")
    made = run(plan, parameters(), flat, ROLES, "float64")
    for a, b in zip(many.rows, made.rows, strict=True):
        assert a.n_micro == b.n_micro
        assert_close(a, b)


@given(plans(processes=1, scaled=True, dtypes=("float32",)), seeds, st.integers(-10, 20))
def test_a_power_of_two_as_static_scale_changes_no_bit_in_float32(
    plan: ops.Plan, seed: int, exponent: int
) -> None:
    feed = [ranks[0] for ranks in windows(seed)]
    static = ops.UpdateScale(mode="static", init_scale=2.0**exponent)
    scaling = (ops.Scale, ops.Unscale, ops.UpdateScale)
    plain = ops.Plan(
        micro=tuple(op for op in plan.micro if not isinstance(op, scaling)),
        window=tuple(op for op in plan.window if not isinstance(op, scaling)),
    )
    scaled, bare = (run(p, parameters(), feed, ROLES) for p in (with_scale(plan, static), plain))
    for a, b in zip(scaled.rows, bare.rows, strict=True):
        assert (a.loss, a.grad_norm, a.lr) == (b.loss, b.grad_norm, b.lr)
        assert all(np.array_equal(a.parameters[n], b.parameters[n]) for n in SHAPES)


@given(plans(scaled=True), seeds, st.lists(st.booleans(), min_size=1, max_size=6))
def test_only_clean_windows_move_anything(plan: ops.Plan, seed: int, clean: list[bool]) -> None:
    reduce = plan.find(ops.AllReduce)
    processes = reduce.processes if reduce else 1
    feed = windows(seed, count=len(clean), processes=processes)
    overflow = MicroBatch(1.0, {name: np.full(shape, np.nan) for name, shape in SHAPES.items()}, 2)
    for ranks, good in zip(feed, clean, strict=True):
        if not good:
            ranks[-1][-1] = overflow
    before = {name: value.astype(np.float32) for name, value in parameters().items()}
    updates = 0
    for row, good in zip(run(plan, parameters(), feed, ROLES).rows, clean, strict=True):
        assert good or row.skipped
        updates += not row.skipped
        assert row.updates == updates
        if row.skipped:
            assert all(np.array_equal(row.parameters[n], before[n]) for n in SHAPES)
        before = dict(row.parameters)


@given(plans(), seeds)
def test_a_run_is_the_same_twice_and_stays_in_float32(plan: ops.Plan, seed: int) -> None:
    reduce = plan.find(ops.AllReduce)
    feed = windows(seed, processes=reduce.processes if reduce else 1)
    first, second = (run(plan, parameters(), feed, ROLES) for _ in range(2))
    for a, b in zip(first.rows, second.rows, strict=True):
        assert all(np.array_equal(a.parameters[n], b.parameters[n]) for n in SHAPES)
        assert {v.dtype for v in a.parameters.values()} == {np.dtype("float32")}
        assert {v.dtype for t in a.moments.values() for v in t.values()} <= {np.dtype("float32")}


@given(plans(processes=1, scaled=False, dtypes=("float32",)), seeds)
def test_float32_stays_close_to_float64(plan: ops.Plan, seed: int) -> None:
    feed = [ranks[0] for ranks in windows(seed)]
    single = run(plan, parameters(), feed, ROLES)
    double = run(plan, parameters(), feed, ROLES, "float64")
    assert_close(single.rows[0], double.rows[0], rtol=1e-4)
