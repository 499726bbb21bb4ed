"""The first window of the toy that differs gets a cause, and the windows in which it acts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Clip, Group, Normalize, Plan, Schedule, Step, UpdateScale
from crosscast.plan.schedule import learning_rate
from crosscast.reference.interpreter import DataRow, State, step
from crosscast_parity.planning.stages import toy_stages
from crosscast_parity.recipes.derived import changed
from crosscast_parity.toy.causes import likely_cause
from crosscast_parity.toy.checks import checks_of
from crosscast_parity.toy.compare import compare
from crosscast_parity.toy.model import ROLES
from mutants.trials import load_recipe
from tiers import cases
from toy_runs import Left, Steps, ToyTrained, as_left, as_meant, toy_trained, with_op


def cause(run: ToyTrained) -> str:
    return likely_cause(run.recipe, run.toy, run.seen, "torch", run.report)


def from_window(first: int, kind: type[Any], **changes: object) -> Steps:
    return lambda plan, n: with_op(plan, kind, **changes) if n >= first else plan


def rate(doubled: Any) -> Steps:
    """Steps of twice the length, whose trace states the recipe's rate."""

    def steps(plan: Plan, number: int) -> Plan:
        schedule = plan.find(Schedule)
        assert schedule is not None
        changes = {n: 2 * getattr(schedule, n) for n in ("learning_rate", "end_lr")}
        return with_op(plan, Schedule, **changes) if doubled(number) else plan

    return steps


def stated(before: State, after: State, row: DataRow) -> tuple[State, DataRow]:
    schedule = plan_on_toy(active=False).find(Schedule)
    assert schedule is not None
    return after, replace(row, lr=learning_rate(schedule, before.position))


@cache
def plan_on_toy(*, active: bool) -> Plan:
    return canonical_plan(toy_stages()[int(active)].derive(load_recipe()))


def with_tensor(
    state: State, row: DataRow, slot: str, name: str, array: Any
) -> tuple[State, DataRow]:
    """Return state and row with another tensor."""

    def put(tensors: Mapping[str, Any]) -> dict[str, Any]:
        return {**tensors, name: np.asarray(array, np.float32)}

    if slot in ("parameters", "ema"):
        changes: dict[str, Any] = {slot: put(getattr(state, slot))}
    else:
        changes = {"moments": {**state.moments, slot: put(state.moments[slot])}}
    return replace(state, **changes), replace(row, **changes)


def rests(slot: str, name: str, first: int) -> Left:
    def left(before: State, after: State, row: DataRow) -> tuple[State, DataRow]:
        if row.window < first:
            return after, row
        held = getattr(before, slot)[name]
        return with_tensor(after, row, slot, name, held)

    return left


def lost_moments(before: State, after: State, row: DataRow) -> tuple[State, DataRow]:
    if row.window != 90:
        return after, row
    return with_tensor(after, row, "exp_avg_sq", "kernel", np.zeros((3, 4)))


class CountedSkips:
    """An overflow that is counted as an update, the fourth time."""

    def __init__(self) -> None:
        self.skips = self.more = 0

    def __call__(self, before: State, after: State, row: DataRow) -> tuple[State, DataRow]:
        self.skips += row.skipped
        if row.skipped and self.skips == 4:
            self.more = 1
            after = replace(after, position=after.position + 1)
        return after, replace(row, updates=row.updates + self.more)


class SecondGrowth:
    """The wait for growth begins with one after the second."""

    def __init__(self) -> None:
        self.grown = 0

    def __call__(self, before: State, after: State, row: DataRow) -> tuple[State, DataRow]:
        if after.scale.scale > before.scale.scale:
            self.grown += 1
            if self.grown == 2:
                scale = replace(after.scale, good=1)
                return replace(after, scale=scale), replace(row, good=1)
        return after, row


class SecondBottom:
    """The scale falls below its lowest value the second time."""

    def __init__(self, machine: UpdateScale) -> None:
        self.machine, self.times = machine, 0

    def __call__(self, before: State, after: State, row: DataRow) -> tuple[State, DataRow]:
        lower = before.scale.scale * self.machine.backoff_factor
        if row.skipped and lower < self.machine.min_scale and after.scale.bad == 0:
            self.times += 1
            if self.times == 2:
                return replace(after, scale=replace(after.scale, scale=lower)), row
        return after, row


def past_the_end(clean: ToyTrained) -> Steps:
    """A linear decay whose progress has no bound, in a run that overflows where another does."""
    skips = np.cumsum([0, *(bool(row["skipped"]) for row in clean.seen.rows)])

    def steps(plan: Plan, number: int) -> Plan:
        schedule, done = plan.find(Schedule), number - int(skips[number])
        assert schedule is not None
        if done <= schedule.total_steps:
            return plan
        progress = (done - schedule.warmup_steps) / (schedule.total_steps - schedule.warmup_steps)
        rate = schedule.end_lr + (schedule.learning_rate - schedule.end_lr) * (1.0 - progress)
        return with_op(plan, Schedule, name="constant", learning_rate=rate, warmup_steps=0)

    return steps


def test_a_run_that_is_right_has_no_cause() -> None:
    run = toy_trained(load_recipe())
    assert run.report.differences == []
    assert cause(run) == ""


EXPECTED: dict[str, tuple[Steps, Left, str]] = {
    "late_step": (
        rate(lambda n: n >= 9),
        stated,
        "fits optimizer.learning_rate: 0.002, but for lr in the trace, from window 10 on",
    ),
    "late_last": (
        rate(lambda n: n == 255),
        stated,
        "fits optimizer.learning_rate: 0.002, but for lr in the trace, only in the last window",
    ),
    "late_frozen": (as_meant, rests("parameters", "kernel", 11), "fits kernel at rest, from"),
    "late_clear": (
        lambda plan, n: plan if n != 77 else replace(plan, window=plan.window[:-1]),
        as_left,
        "fits gradients of the window before that were not cleared, only in window 78",
    ),
    "late_decay": (from_window(100, Step, weight_decay=0.0), as_left, "fits no decay, from window"),
    "late_clip": (
        from_window(100, Clip, mode="none"),
        as_left,
        "fits clipping.kind: none, from window 100 on",
    ),
    "late_moments": (
        as_meant,
        lost_moments,
        "fits exp_avg_sq/kernel set to zero, only in window 90",
    ),
    "late_tail": (
        from_window(40, Normalize, renormalize=False),
        as_left,
        "fits accumulation.tail: flush, in every short window from window",
    ),
    "late_averages": (
        as_meant,
        lambda before, after, row: (
            (replace(after, ema=before.ema), replace(row, ema=before.ema))
            if row.window >= 30
            else (after, row)
        ),
        "fits ema/beta, ema/bias, ema/embeddings and 2 more at rest, from window 30 on",
    ),
    "late_beta": (
        from_window(50, Step, betas=(0.9, 0.98)),
        as_left,
        "fits betas 0.9 and 0.98, from window 50 on",
    ),
}


@cache
def late(bug: str) -> tuple[ToyTrained, str]:
    """Return a run with a bug, and its cause."""
    steps, left, _ = EXPECTED[bug]
    run = toy_trained(load_recipe(), steps=steps, left=left)
    return run, cause(run)


@pytest.mark.parametrize(
    "bug", cases(EXPECTED, quick=["late_step", "late_frozen"], reason="more bugs that act late")
)
def test_what_acts_late_gets_a_cause(bug: str) -> None:
    run, found = late(bug)
    assert run.report.differences
    assert found.startswith(EXPECTED[bug][2]), found


class SumsKept:
    """Gradients of a window that stay as they were summed: scaled, neither divided nor clipped."""

    def __init__(self) -> None:
        self.plan = plan_on_toy(active=False)
        self.toy = toy_trained(load_recipe()).toy

    def __call__(self, before: State, after: State, row: DataRow) -> tuple[State, DataRow]:
        if row.window != 77:
            return after, row
        summed = step(replace(self.plan, window=()), before, self.toy.work(row.window), ROLES)[0]
        return replace(after, gradients=summed.gradients), row


def test_a_run_with_rounded_betas_gets_a_cause_although_other_betas_have_no_rounded_reading() -> (
    None
):
    doubled = rate(lambda n: n >= 9)

    def steps(plan: Plan, number: int) -> Plan:
        betas = tuple(float(np.float32(beta)) for beta in plan.get(Step).betas)
        return with_op(doubled(plan, number), Step, betas=betas)

    run = toy_trained(load_recipe(), steps=steps, left=stated)
    report = compare(canonical_plan(run.recipe), run.toy, run.seen, "tensorflow")
    assert report.place is not None
    assert report.place.rounded == 1
    words = likely_cause(run.recipe, run.toy, run.seen, "tensorflow", report)
    assert words.startswith("fits optimizer.learning_rate: 0.002, but for lr in the trace, from")


def test_sums_that_are_not_cleared_are_named_as_gradients_are() -> None:
    run = toy_trained(load_recipe(), left=SumsKept())
    expected = "fits gradients of the window before that were not cleared, only in window 78"
    assert cause(run).startswith(expected), cause(run)


def test_the_cause_stands_in_the_words_of_the_check() -> None:
    run, found = late("late_frozen")
    failing = [c for c in checks_of(run.report, run.seen.rows, found) if c.result == "fail"]
    assert [check.level for check in failing] == ["L1b"]
    assert "; fits kernel at rest, from window 11 on" in failing[0].wording


def test_a_mistake_in_one_tensor_is_said_of_that_one() -> None:
    kernel = Group(parameters=("kernel",), weight_decay=0.0)
    steps = from_window(40, Step, groups=(kernel,))
    run = toy_trained(load_recipe(), steps=steps)
    assert cause(run).startswith("fits no decay, only in kernel, from window 40 on")


def test_an_overflow_that_counts_as_an_update_is_named() -> None:
    run = toy_trained(load_recipe(), active=True, left=CountedSkips())
    skips = [row["window"] for row in run.seen.rows if row["skipped"]]
    assert cause(run) == (
        f"fits an overflow counted as an update, only in window {skips[3]}, the 4th overflow"
    )


def test_a_rate_below_the_end_of_the_schedule_is_named() -> None:
    clean = toy_trained(load_recipe(), active=True)
    run = toy_trained(load_recipe(), active=True, steps=past_the_end(clean))
    assert cause(run).startswith("fits a schedule that goes on after its last step, from window ")


def test_a_second_fall_below_the_lowest_scale_is_named() -> None:
    machine = plan_on_toy(active=True).find(UpdateScale)
    assert machine is not None
    run = toy_trained(load_recipe(), active=True, left=SecondBottom(machine))
    assert cause(run).startswith("fits loss_scaling.min_scale: ")
    assert "the 2nd overflow at the lowest scale" in cause(run)


class RestsAfterOverflows:
    """A tensor that rests as soon as two windows have overflowed."""

    def __init__(self) -> None:
        self.skips = 0

    def __call__(self, before: State, after: State, row: DataRow) -> tuple[State, DataRow]:
        self.skips += row.skipped
        if self.skips < 2:
            return after, row
        return with_tensor(after, row, "parameters", "kernel", before.parameters["kernel"])


def test_what_begins_after_an_overflow_is_said_to() -> None:
    run = toy_trained(load_recipe(), left=RestsAfterOverflows())
    skips = [row["window"] for row in run.seen.rows if row["skipped"]]
    words = f"fits kernel at rest, from window {skips[1] + 1} on, after the 2nd overflow"
    assert cause(run) == words


def test_a_cause_that_does_not_explain_what_follows_is_not_said_of_it() -> None:
    def steps(plan: Plan, number: int) -> Plan:
        if number == 40:
            return with_op(plan, Step, weight_decay=0.0)
        return with_op(plan, Clip, mode="none") if number >= 100 else plan

    words = "fits no decay in window 40; it differs in 1 window from window 40 on, from window 100"
    assert cause(toy_trained(load_recipe(), steps=steps)).startswith(words)


def test_where_no_mistake_fits_that_is_said_with_the_event() -> None:
    run = toy_trained(load_recipe(), active=True, left=SecondGrowth())
    assert cause(run).startswith("no known mistake fits; it differs only in window ")
    assert cause(run).endswith(", the 2nd growth of the scale")


@pytest.mark.parametrize(
    "name",
    cases(
        ["adam", "sgd", "lamb", "lion", "adafactor"], quick=["adafactor"], reason="every optimizer"
    ),
)
def test_other_optimizers(name: str) -> None:
    recipe = changed(load_recipe(), {"optimizer": {"name": name, "learning_rate": 1e-3}})
    run = toy_trained(recipe, left=rests("parameters", "gamma", 20))
    assert cause(run).startswith("fits gamma at rest, from window 2")


def test_a_tensor_that_is_missing_has_no_cause_and_raises_nothing() -> None:
    run = toy_trained(load_recipe())
    for held in run.seen.tensors[50:]:
        held.pop("exp_avg/kernel")  # type: ignore[attr-defined]
    report = compare(canonical_plan(run.recipe), run.toy, run.seen, "torch")
    assert report.differences
    assert likely_cause(run.recipe, run.toy, run.seen, "torch", report) == ""


@pytest.mark.parametrize(
    "damage",
    cases(
        [{"updates": "x"}, {"scale": None}, {"lr": "nan"}, {"rows": []}],
        quick=[{"updates": "x"}],
        reason="rows with other damages",
    ),
)
def test_rows_that_make_no_sense_differ_and_raise_nothing(damage: dict[str, Any]) -> None:
    run = toy_trained(load_recipe())
    run.seen.rows[50].update(damage)
    report = compare(canonical_plan(run.recipe), run.toy, run.seen, "torch")
    words = likely_cause(run.recipe, run.toy, run.seen, "torch", report)
    assert "fail" in {check.result for check in checks_of(report, run.seen.rows, words)}
