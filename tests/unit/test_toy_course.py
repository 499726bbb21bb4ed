"""The course of a script on the toy passes every transition of its recipe, early and late."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from crosscast.plan import loss_scale
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Schedule, UpdateScale
from crosscast.plan.schedule import learning_rate
from crosscast.recipe.document import Recipe
from crosscast_parity.planning.runs import Stage
from crosscast_parity.planning.stages import TOY_WINDOWS, toy_stages
from crosscast_parity.recipes.derived import changed
from crosscast_parity.toy.course import course_of
from crosscast_parity.toy.faults import PARAMETERS
from parity_fakes import make_recipe

SCALED = {"mode": "dynamic", "hysteresis": 2, "max_scale": 2.0**20}
LATE = TOY_WINDOWS * 2 // 3
Before = loss_scale.ScaleState
Transition = Callable[[UpdateScale, Before, bool, Before], bool]
TRANSITIONS: Mapping[str, Transition] = {
    "growth": lambda op, a, bad, b: not bad and b.scale > a.scale,
    "upper bound": lambda op, a, bad, b: (
        not bad and a.good + 1 >= op.growth_interval and b.scale == op.max_scale
    ),
    "held at the upper bound": lambda op, a, bad, b: (
        not bad and a.good + 1 >= op.growth_interval and a.scale == op.max_scale
    ),
    "back-off": lambda op, a, bad, b: bad and b.scale < a.scale,
    "lower bound": lambda op, a, bad, b: (
        bad and a.scale * op.backoff_factor < op.min_scale == b.scale < a.scale
    ),
    "back-off at a bound or below": lambda op, a, bad, b: (
        bad and b.bad <= a.bad and a.scale * op.backoff_factor < op.min_scale
    ),
    "held at the lower bound": lambda op, a, bad, b: (
        bad and a.scale == op.min_scale and (b.bad == 0 or op.hysteresis_mode == "cumulative")
    ),
    "hysteresis holds": lambda op, a, bad, b: bad and b.bad > a.bad,
    "hysteresis forgets": lambda op, a, bad, b: not bad and a.bad > b.bad,
    "overflow before growth": lambda op, a, bad, b: bad and a.good == op.growth_interval - 1,
}


def active() -> Stage:
    return toy_stages()[1]


def of(**changes: Any) -> tuple[Recipe, Recipe]:
    """Return a recipe with loss scaling, of its own values and with active features."""
    half = {"mode": "mixed", "compute_dtype": "float16"}
    fixed = {"batch.global_batch_size": 32, "accumulation.steps": 4, "precision": half}
    recipe = changed(make_recipe(), fixed | {"loss_scaling": SCALED} | changes)
    own, stressed = (stage.derive(recipe) for stage in toy_stages())
    return own, stressed


def passed(recipe: Recipe) -> dict[str, list[int]]:
    """Return the windows in which each transition of the scale happens."""
    machine = canonical_plan(recipe).find(UpdateScale)
    assert machine is not None
    bad = {fault.window for fault in course_of(recipe, active()).faults}
    state, found = loss_scale.initial(machine), {name: list[int]() for name in TRANSITIONS}
    for window in range(TOY_WINDOWS):
        after = loss_scale.adjust(machine, state, window not in bad)
        for name, happens in TRANSITIONS.items():
            if happens(machine, state, window in bad, after):
                found[name].append(window)
        state = after
    return found


@pytest.mark.parametrize(
    ("scaling", "without"),
    [
        ({}, ()),
        ({"growth_interval": 2000}, ()),
        ({"growth_interval": 1}, ()),
        ({"hysteresis_mode": "cumulative"}, ("hysteresis forgets",)),
        ({"hysteresis": 1}, ("hysteresis holds", "hysteresis forgets")),
        ({"max_scale": None}, ("upper bound", "held at the upper bound", "lower bound")),
        ({"growth_factor": 4.0, "backoff_factor": 0.25}, ()),
    ],
    ids=["usual", "slow", "fast", "cumulative", "no hysteresis", "no ceiling", "quarters"],
)
def test_every_transition_of_the_scale_happens_often_and_late(
    scaling: dict[str, Any], without: tuple[str, ...]
) -> None:
    found = passed(of(loss_scaling=SCALED | scaling)[1])
    for name, windows in found.items():
        if name not in without:
            assert len(windows) >= 3, name
            assert any(window >= LATE for window in windows), name


def test_overflows_change_distance_place_parameter_and_value() -> None:
    for recipe, stage in zip(of(), toy_stages(), strict=True):
        faults = course_of(recipe, stage).faults
        windows = [fault.window for fault in faults]
        assert len(windows) >= 10
        assert windows[-1] >= LATE
        assert len({b - a for a, b in itertools.pairwise(windows)}) >= 5
        for part in (faults, [fault for fault in faults if fault.window >= LATE]):
            assert {fault.parameter for fault in part} == set(PARAMETERS)
            assert {fault.micro_batch for fault in part} >= {0, 2, 3}
            assert len({str(fault.value) for fault in part}) == 3
        assert TOY_WINDOWS - 1 not in windows, "the last window is an update"


def test_windows_are_short_at_the_end_of_every_epoch() -> None:
    for recipe, stage in zip(of(), toy_stages(), strict=True):
        course = course_of(recipe, stage)
        short = [n for n, rows in enumerate(course.windows) if sum(rows) < sum(course.windows[0])]
        assert len(short) >= 8
        assert len([window for window in short if window >= LATE]) >= 2
        assert any(course.windows[window][-1] < course.windows[window][0] for window in short)


@pytest.mark.parametrize("total", [10, 64, 100_000])
@pytest.mark.parametrize("tick", ["update", "attempt"])
def test_the_schedule_ends_within_the_run_and_updates_follow(total: int, tick: str) -> None:
    schedule = {"name": "linear", "warmup_steps": 4, "total_steps": total, "tick": tick}
    for recipe, stage in zip(of(schedule=schedule), toy_stages(), strict=True):
        plan = canonical_plan(recipe)
        bad = {fault.window for fault in course_of(recipe, stage).faults}
        updates = TOY_WINDOWS if tick == "attempt" else TOY_WINDOWS - len(bad)
        op = plan.find(Schedule)
        assert op is not None
        rates = [learning_rate(op, position) for position in range(updates)]
        assert 0 < recipe.schedule.warmup_steps < LATE // 2
        after = updates - recipe.schedule.total_steps
        assert after >= (16 if stage.stress else 0)
        assert rates[-1 - max(0, after)] > 0.0, "the rate is not 0 before"


@pytest.mark.parametrize("scaling", [{"mode": "static", "scale": 1024.0}, {"mode": "dynamic"}])
def test_own_values_overflow_now_and_then(scaling: dict[str, Any]) -> None:
    own, _ = of(loss_scaling=scaling)
    faults = course_of(own, toy_stages()[0]).faults
    assert len(faults) >= 10


def test_without_loss_scaling_nothing_overflows() -> None:
    recipe = make_recipe(scaled=False)
    for stage in toy_stages():
        course = course_of(stage.derive(recipe), stage)
        assert course.faults == ()
        assert len(course.windows) == TOY_WINDOWS
