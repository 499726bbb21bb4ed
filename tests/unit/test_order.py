from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crosscast.messages.codes import CODES
from crosscast.plan import operations as ops
from crosscast.plan.order import NEEDS, ORDER, PARTS, Before, Belongs, Needs, verify
from crosscast.reference.interpreter import MicroBatch, run
from strategies import ROLES, SHAPES, parameters, plans, windows

FULL = ops.Plan(
    micro=(
        ops.Autocast(compute_dtype="float16"),
        ops.Normalize(unit="microbatch", renormalize=True, full=2),
        ops.Scale(),
        ops.Backward(compute_dtype="float16"),
        ops.Accumulate(),
    ),
    window=(
        ops.AllReduce(processes=2),
        ops.Unscale(),
        ops.CheckFinite(),
        ops.Clip(mode="global_norm", limit=1.0, eps=1e-6),
        ops.Step(optimizer="adamw", weight_decay=0.1),
        ops.Ema(decay=0.9),
        ops.Schedule(
            name="linear",
            learning_rate=0.1,
            end_lr=0.0,
            warmup_steps=2,
            total_steps=6,
            tick="update",
        ),
        ops.UpdateScale(mode="dynamic", init_scale=1024.0, growth_interval=2),
        ops.Zero(),
    ),
)


def codes(plan: ops.Plan) -> set[str]:
    return {diagnostic.code for diagnostic in verify(plan)}


def reasons(plan: ops.Plan) -> str:
    return "\n".join(diagnostic.message for diagnostic in verify(plan))


def swapped(plan: ops.Plan, first: type[ops.Op], other: type[ops.Op]) -> ops.Plan:
    """The same operations, two of them exchanged within their part."""

    def swap(part: tuple[ops.Op, ...]) -> tuple[ops.Op, ...]:
        here = {type(op): op for op in part}
        places = {first: other, other: first}
        return tuple(here[places.get(type(op), type(op))] for op in part)

    in_micro = {type(op) for op in plan.micro}
    if first in in_micro:
        return ops.Plan(micro=swap(plan.micro), window=plan.window)
    return ops.Plan(micro=plan.micro, window=swap(plan.window))


def without(plan: ops.Plan, *dropped: type[ops.Op]) -> ops.Plan:
    return ops.Plan(
        micro=tuple(op for op in plan.micro if not isinstance(op, dropped)),
        window=tuple(op for op in plan.window if not isinstance(op, dropped)),
    )


def moved(plan: ops.Plan, op_type: type[ops.Op]) -> ops.Plan:
    """One operation moved to the other part, next to the border."""
    op = plan.find(op_type)
    assert op is not None
    rest = without(plan, op_type)
    if op in plan.micro:
        return ops.Plan(micro=rest.micro, window=(op, *rest.window))
    return ops.Plan(micro=(*rest.micro, op), window=rest.window)


@given(plans())
def test_the_canonical_order_breaks_no_rule(plan: ops.Plan) -> None:
    assert verify(plan) == []


def test_the_tables_speak_of_every_operation() -> None:
    assert [rule.op for rule in PARTS] == list(ops.OPS)
    assert {op for rule in ORDER for op in (rule.first, rule.then)} == set(ops.OPS)


@pytest.mark.parametrize("rule", ORDER, ids=lambda rule: f"{rule.first.kind}-{rule.then.kind}")
def test_each_order_rule_catches_its_violation(rule: Before) -> None:
    broken = swapped(FULL, rule.first, rule.then)
    assert "CC801" in codes(broken)
    message = f"{rule.first.kind} must come before {rule.then.kind}: {rule.reason}"
    assert message in reasons(broken)


@pytest.mark.parametrize("rule", ORDER, ids=lambda rule: f"{rule.first.kind}-{rule.then.kind}")
def test_each_order_rule_holds_in_the_full_plan(rule: Before) -> None:
    kinds = [type(op) for op in FULL]
    assert kinds.index(rule.first) < kinds.index(rule.then)


@pytest.mark.parametrize("rule", NEEDS, ids=lambda rule: f"{rule.op.kind}-{rule.needed.kind}")
def test_each_need_catches_the_missing_operation(rule: Needs) -> None:
    broken = without(FULL, rule.needed)
    assert "CC802" in codes(broken)
    assert f"{rule.needed.kind} is missing" in reasons(broken)
    assert rule.reason in reasons(broken)


@pytest.mark.parametrize("rule", PARTS, ids=lambda rule: rule.op.kind)
def test_each_operation_is_caught_in_the_other_part(rule: Belongs) -> None:
    broken = moved(FULL, rule.op)
    assert "CC803" in codes(broken)
    assert f"{rule.op.kind} belongs to the {rule.part} part: {rule.reason}" in reasons(broken)


@pytest.mark.parametrize("rule", PARTS, ids=lambda rule: rule.op.kind)
def test_each_operation_is_caught_when_repeated(rule: Belongs) -> None:
    op = FULL.find(rule.op)
    assert op is not None
    part = {"micro": FULL.micro, "window": FULL.window, rule.part: ()}
    index = list(getattr(FULL, rule.part)).index(op)
    same = list(getattr(FULL, rule.part))
    same.insert(index, op)
    part[rule.part] = tuple(same)
    broken = ops.Plan(micro=part["micro"], window=part["window"])
    assert codes(broken) == {"CC804"}
    assert f"{rule.op.kind} occurs 2 times" in reasons(broken)


def test_a_repeated_operation_is_out_of_order_where_one_of_its_places_is() -> None:
    again = ops.Clip(mode="none")
    late_clip = ops.Plan(micro=FULL.micro, window=(*FULL.window[:-1], again, ops.Zero()))
    assert codes(late_clip) == {"CC801", "CC804"}
    assert "clip must come before step" in reasons(late_clip)


def test_an_operation_in_both_parts_is_both_misplaced_and_repeated() -> None:
    broken = ops.Plan(micro=(*FULL.micro, ops.Zero()), window=FULL.window)
    assert {"CC803", "CC804"} <= codes(broken)


def test_an_empty_plan_lacks_what_every_plan_needs() -> None:
    assert len(verify(ops.Plan(micro=(), window=()))) == sum(rule.op is ops.Op for rule in NEEDS)


def test_an_unknown_operation_is_named() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Average(ops.Op):
        kind = "average"

    found = verify(ops.Plan(micro=FULL.micro, window=(Average(), *FULL.window)))
    assert [d.code for d in found] == ["CC805"]
    assert "'average'" in found[0].message


def test_a_check_without_scaling_is_allowed() -> None:
    assert verify(without(FULL, ops.Scale, ops.Unscale, ops.UpdateScale)) == []


def test_with_the_parts_exchanged_every_operation_is_misplaced() -> None:
    found = verify(ops.Plan(micro=FULL.window, window=FULL.micro))
    assert [diagnostic.code for diagnostic in found] == ["CC803"] * len(ops.OPS)


def test_every_code_is_in_the_table() -> None:
    assert {"CC801", "CC802", "CC803", "CC804", "CC805", "CC806"} <= set(CODES)


# What `verify` cannot know: how many processes there are, and that someone wants a check of
# gradients that are not scaled.
UNNOTICED: set[type[ops.Op]] = {ops.Ema, ops.AllReduce}


@given(plans(), st.data())
def test_removing_any_operation_is_caught(plan: ops.Plan, data: st.DataObject) -> None:
    dropped = type(data.draw(st.sampled_from(list(plan))))
    optional = UNNOTICED | (set() if plan.find(ops.Scale) else {ops.CheckFinite})
    assume(dropped not in optional)
    assert "CC802" in codes(without(plan, dropped))


@given(plans(), st.data())
def test_moving_any_operation_is_caught(plan: ops.Plan, data: st.DataObject) -> None:
    moving = type(data.draw(st.sampled_from(list(plan))))
    assert "CC803" in codes(moved(plan, moving))


def test_no_other_order_of_the_micro_part_passes() -> None:
    for micro in permutations(FULL.micro):
        broken = ops.Plan(micro=micro, window=FULL.window)
        assert (verify(broken) == []) == (micro == FULL.micro)


def test_the_window_part_may_only_exchange_what_follows_the_step() -> None:
    kinds = tuple(type(op) for op in FULL.window)
    after = permutations((ops.Ema, ops.Schedule, ops.UpdateScale))
    allowed = {(*kinds[:5], *middle, ops.Zero) for middle in after}
    head = FULL.window[:3]
    # Two halves and every rotation keep this below the 362880 orders of all nine.
    orders = [
        (*first, *second)
        for first in permutations(head)
        for second in permutations(FULL.window[3:])
    ]
    orders += [FULL.window[i:] + FULL.window[:i] for i in range(1, 9)]
    for window in orders:
        passes = verify(ops.Plan(micro=FULL.micro, window=window)) == []
        assert passes == (tuple(type(op) for op in window) in allowed)


def exchanged(plan: ops.Plan) -> ops.Plan:
    return swapped(plan, ops.Schedule, ops.UpdateScale)


@given(plans(), st.data())
def test_an_order_that_passes_means_the_same(plan: ops.Plan, data: st.DataObject) -> None:
    window = data.draw(st.permutations(plan.window))
    other = ops.Plan(micro=plan.micro, window=tuple(window))
    if verify(other):
        return
    assert_same_run(plan, other)


@given(plans(scaled=True))
def test_the_one_exchange_that_passes_means_the_same(plan: ops.Plan) -> None:
    other = exchanged(plan)
    assert verify(other) == []
    assert_same_run(plan, other)


def assert_same_run(plan: ops.Plan, other: ops.Plan) -> None:
    reduce = plan.find(ops.AllReduce)
    feed = windows(1, count=3, processes=reduce.processes if reduce else 1)
    feed[1][0][0] = MicroBatch(1.0, {n: np.full(s, np.inf) for n, s in SHAPES.items()}, 2)
    first, second = (run(p, parameters(), feed, ROLES) for p in (plan, other))
    for a, b in zip(first.rows, second.rows, strict=True):
        assert (a.loss, a.lr, a.scale, a.skipped) == (b.loss, b.lr, b.scale, b.skipped)
        assert (a.updates, a.good, a.bad) == (b.updates, b.good, b.bad)
        for name in SHAPES:
            assert np.array_equal(a.parameters[name], b.parameters[name], equal_nan=True)
