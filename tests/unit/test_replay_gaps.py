"""The replay of windows with gaps between them: what acts late is found, correct runs pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from crosscast.plan import operations as ops
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import Recipe
from crosscast.reference.operations import Attempt
from crosscast_parity.evidence.replay import Replayed
from crosscast_parity.inside.inject import Fault
from crosscast_parity.levels.replay import replay_run
from crosscast_parity.planning.recorded_windows import recorded_windows
from crosscast_parity.planning.runs import RECORDED_LATE
from crosscast_parity.recordings.observations import Observation
from replay_fakes import RECIPE, Arrays, by_name, change, changed, record, results, stress
from tiers import cases

WINDOWS = 24
OVERFLOWS = (2, 9, 10, 17)
NAME = "classifier.bias"


def seen_of(
    recipe: Recipe,
    *,
    plan: ops.Plan | None = None,
    overflow: tuple[int, ...] = OVERFLOWS,
    before_op: Callable[[ops.Op, Attempt], None] | None = None,
    after_window: Callable[[int, Arrays], None] | None = None,
) -> Observation:
    """What is recorded of a run with planned overflows."""
    faults = tuple(Fault(window, 0, "inf") for window in overflow)
    keep = recorded_windows(recipe, WINDOWS, faults, RECORDED_LATE)
    found = record(
        recipe,
        plan=plan,
        before_op=before_op,
        after_window=after_window,
        windows=WINDOWS,
        overflow=overflow,
        keep=keep,
    )
    assert 3 < len(found.windows) < WINDOWS
    return found


OPTIMIZERS = (
    "{name: sgd, learning_rate: 0.1}",
    "{name: sgd, learning_rate: 0.1, momentum: 0.9, nesterov: true}",
    "{name: adam, learning_rate: 1e-3, weight_decay: 0.1}",
    "{name: adamw, learning_rate: 1e-3, weight_decay: 0.1}",
    "{name: adamw, learning_rate: 1e-3, bias_correction: false, eps: 1e-6}",
    "{name: lamb, learning_rate: 1e-2, weight_decay: 0.1}",
    "{name: lion, learning_rate: 1e-3, weight_decay: 0.1}",
    "{name: adafactor, learning_rate: 1e-2, weight_decay: 0.1}",
)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize(
    "tick", cases(["update", "attempt"], quick=["attempt"], reason="schedules that count updates")
)
def test_a_faithful_run_passes(optimizer: str, tick: str) -> None:
    schedule = f"{{name: linear, total_steps: 64, warmup_steps: 4, tick: {tick}}}"
    recipe = stress(optimizer=optimizer, ema="{decay: 0.9}", schedule=schedule)
    observed = seen_of(recipe)
    found = by_name(replay_run(recipe, observed))
    assert {name: check.result for name, check in found.items()} == {
        "loss factor": "pass",
        "window loss": "pass",
        "gradient norm": "pass",
        "applied gradients": "pass",
        "update": "pass",
        "average": "pass",
    }
    plan = canonical_plan(recipe)
    rate = plan.find(ops.Schedule)
    assert rate is not None
    wrong = change(plan, ops.Schedule, learning_rate=1.01 * rate.learning_rate)
    only_late = tuple(window for window in observed.windows if window.window > 9)
    late = seen_of(recipe, plan=wrong).windows[-len(only_late) :]
    assert results(replay_run(recipe, Observation(windows=only_late)))["update"] == "pass"
    assert results(replay_run(recipe, Observation(windows=late)))["update"] == "fail"


def bump_at(*windows: int) -> Callable[[int, Arrays], None]:
    """A tensor that goes somewhere else after some windows."""

    def bump(number: int, parameters: Arrays) -> None:
        if number in windows:
            parameters[NAME] = parameters[NAME] + np.float32(1e-4)

    return bump


def test_a_change_in_the_last_window_alone_is_found() -> None:
    check = by_name(replay_run(RECIPE, seen_of(RECIPE, after_window=bump_at(WINDOWS - 1))))
    assert (check["update"].result, check["update"].window) == ("fail", WINDOWS - 1)
    assert NAME in check["update"].wording


def test_a_change_after_the_first_growth_alone_is_found() -> None:
    scale = stress(loss_scaling="{mode: dynamic, init_scale: 4096, growth_interval: 7}")
    observed = seen_of(scale, overflow=(), after_window=bump_at(7))
    grown = next(window for window in observed.windows if window.row.scale > 4096)
    check = by_name(replay_run(scale, observed))["update"]
    assert (check.result, check.window) == ("fail", grown.window) == ("fail", 7)


@pytest.mark.parametrize("start", [5, 11, 20])
def test_a_tensor_that_stops_late_is_found(start: int) -> None:
    held: Arrays = {}

    def freeze(number: int, parameters: Arrays) -> None:
        if number >= start:
            parameters[NAME] = held.setdefault(NAME, parameters[NAME])

    check = by_name(replay_run(RECIPE, seen_of(RECIPE, after_window=freeze)))["update"]
    assert check.result == "fail"
    assert NAME in check.wording


def moved_moments(op: ops.Op, attempt: Attempt) -> None:
    if isinstance(op, ops.UpdateScale) and not attempt.finite:
        moments = attempt.moments["exp_avg"]
        attempt.moments = {**attempt.moments, "exp_avg": {n: 2 * a for n, a in moments.items()}}


def counted_skips(op: ops.Op, attempt: Attempt) -> None:
    """The bias correction counts attempts; the trace tells updates."""
    if isinstance(op, ops.Step):
        attempt.updates += sum(window < 18 for window in OVERFLOWS)
    if isinstance(op, ops.UpdateScale) and attempt.finite:
        attempt.updates -= sum(window < 18 for window in OVERFLOWS)


@pytest.mark.parametrize("mistake", [moved_moments, counted_skips])
def test_what_a_skip_must_not_move_is_found(mistake: Callable[[ops.Op, Attempt], None]) -> None:
    observed = seen_of(RECIPE, before_op=mistake)
    assert results(replay_run(RECIPE, observed))["update"] == "fail"


def test_weights_may_change_in_a_gap_but_not_between_adjacent_windows() -> None:
    observed = seen_of(RECIPE)
    last = observed.windows[-1]
    numbers = [window.window for window in observed.windows]
    pair = next(n for n, number in enumerate(numbers) if n and number == numbers[n - 1] + 1)
    before = {**observed.windows[pair].before, NAME: last.before[NAME]}
    found = by_name(replay_run(RECIPE, changed(observed, pair, before=before)))["update"]
    assert "those after the previous window" in found.wording


def without_state(observed: Observation) -> Observation:
    """As of a script that does not tell its moments."""
    return Observation(windows=tuple(replace(w, held=None) for w in observed.windows))


def test_unknown_moments_are_told() -> None:
    keep = recorded_windows(RECIPE, WINDOWS, (), RECORDED_LATE, moments=False)
    assert keep == (0, 1, 2, 3, 4, 5, 6, WINDOWS - 1)
    observed = record(RECIPE, windows=WINDOWS, overflow=OVERFLOWS, keep=keep)
    checks = by_name(replay_run(RECIPE, without_state(observed)))
    assert checks["update"].result == "pass"
    late = checks["update of later windows"]
    assert late.result == "not tested"
    assert late.wording == f"the moments before window {WINDOWS - 1} were not recorded"
    only = Observation(windows=without_state(seen_of(RECIPE)).windows[-1:])
    assert results(replay_run(RECIPE, only))["update"] == "not tested"


def test_without_moments_none_need_be_known() -> None:
    recipe = stress(optimizer="{name: sgd, learning_rate: 0.1}")
    observed = without_state(seen_of(recipe, after_window=bump_at(WINDOWS - 1)))
    assert results(replay_run(recipe, observed))["update"] == "fail"
    calm = results(replay_run(recipe, without_state(seen_of(recipe))))
    assert set(calm.values()) == {"pass"}


def test_moments_of_another_shape_or_name_are_none() -> None:
    observed = seen_of(RECIPE)
    last = observed.windows[-1]
    assert last.held is not None
    for moments in (
        {name: array.ravel()[:1] for name, array in last.held.moments.items()},
        {f"other/{name.partition('/')[2]}": a for name, a in last.held.moments.items()},
    ):
        held = replace(last.held, moments=moments)
        wrong = changed(observed, len(observed.windows) - 1, held=held)
        assert results(replay_run(RECIPE, wrong))["update"] == "fail"


def test_impossible_counts_are_no_crash() -> None:
    observed = seen_of(RECIPE)
    last = observed.windows[-1]
    for updates in (0, 10**9):
        row = replace(last.row, updates=updates)
        wrong = changed(observed, len(observed.windows) - 1, row=row)
        assert results(replay_run(RECIPE, wrong))["update"] == "fail"


def test_averages_that_stop_late_are_found() -> None:
    recipe = stress(ema="{decay: 0.9}")
    observed = seen_of(recipe)
    last = observed.windows[-1]
    assert last.held is not None
    stopped = changed(observed, len(observed.windows) - 1, average=last.held.average)
    check = by_name(replay_run(recipe, stopped))["average"]
    assert (check.result, check.window) == ("fail", WINDOWS - 1)
    # Without the averages before a gap, the windows after it are not checked.
    only = Observation(windows=without_state(observed).windows[-1:])
    assert results(replay_run(recipe, only))["average"] == "not tested"


def test_other_recipes_are_told_apart_by_late_windows() -> None:
    observed = seen_of(RECIPE)
    replayed = Replayed(RECIPE, observed)
    assert {check.result for check in replayed.update(RECIPE)} == {"pass"}
    late = stress(schedule="{name: linear, total_steps: 60, warmup_steps: 4}")
    assert {check.result for check in replayed.update(late)} == {"fail"}
    unknown = Replayed(RECIPE, Observation(windows=without_state(observed).windows[-1:]))
    assert {check.result for check in unknown.update(RECIPE)} == {"not tested"}
