"""The replay where something was not recorded, is not finite or is too small, and averages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from crosscast.plan import operations as ops
from crosscast.plan.canonical import canonical_plan
from crosscast.reference.operations import Attempt
from crosscast_parity.levels.replay import replay_run
from crosscast_parity.recordings.observations import Observation
from replay_fakes import (
    PLAN,
    RECIPE,
    SHAPES,
    Arrays,
    by_name,
    change,
    changed,
    record,
    results,
    stress,
)


def test_what_was_not_recorded_is_not_tested() -> None:
    observed = record(RECIPE)
    bare = tuple(
        replace(window, total={}, first={}, applied={}, factors=(), losses=())
        for window in observed.windows
    )
    checks = replay_run(RECIPE, replace(observed, windows=bare))
    assert set(results(checks).values()) == {"not tested"}
    assert all(check.wording for check in checks)
    assert results(replay_run(RECIPE, Observation(windows=()))) == {"update": "not tested"}
    late = tuple(replace(window, window=window.window + 3) for window in observed.windows)
    assert results(replay_run(RECIPE, Observation(windows=late)))["update"] == "not tested"


def test_without_applied_gradients_the_update_is_replayed_from_the_sums() -> None:
    for plan, expected in ((PLAN, "pass"), (change(PLAN, ops.Clip, mode="none"), "fail")):
        observed = record(RECIPE, plan=plan)
        windows = tuple(replace(window, applied={}) for window in observed.windows)
        found = results(replay_run(RECIPE, Observation(windows=windows)))
        assert found["applied gradients"] == "not tested"
        assert found["update"] == expected


@pytest.mark.parametrize("upto", [ops.Unscale, ops.Clip])
def test_an_optimizer_may_unscale_and_clip_by_itself(upto: type[ops.Op]) -> None:
    given: list[Arrays] = []

    def note(op: ops.Op, attempt: Attempt) -> None:
        if isinstance(op, upto):
            given.append(attempt.gradients())

    observed = record(RECIPE, before_op=note)
    windows = tuple(
        replace(window, applied=applied)
        for window, applied in zip(observed.windows, given, strict=True)
    )
    checks = by_name(replay_run(RECIPE, Observation(windows=windows)))
    assert {check.result for check in checks.values()} == {"pass"}
    assert "unscales or clips" in checks["applied gradients"].wording


def test_updates_as_small_as_rounding_are_not_judged() -> None:
    recipe = stress(optimizer="{name: adamw, learning_rate: 1e-12, weight_decay: 0.1}")
    check = by_name(replay_run(recipe, record(recipe)))["update"]
    assert check.result == "not tested"
    assert "too small" in check.wording
    wrong = change(canonical_plan(recipe), ops.Schedule, learning_rate=1e-3)
    assert results(replay_run(recipe, record(recipe, plan=wrong)))["update"] == "fail"


def test_values_that_are_not_finite_end_the_replay() -> None:
    recipe = stress(precision="{mode: none}", loss_scaling="{mode: none}")
    observed = record(recipe, overflow=(2,))
    assert not np.isfinite(observed.windows[2].after[next(iter(SHAPES))]).all()
    found = results(replay_run(recipe, observed))
    assert set(found.values()) == {"pass"}
    first = record(recipe, overflow=(0,))
    assert results(replay_run(recipe, first))["update"] == "not tested"


AVERAGES: dict[str, Callable[[ops.Plan], ops.Plan]] = {
    "another decay": lambda p: change(p, ops.Ema, decay=0.99),
    "none": lambda p: change(p, ops.Ema, decay=1.0),
}


def test_the_average_is_replayed() -> None:
    recipe = stress(ema="{decay: 0.9}")
    observed = record(recipe, overflow=(1,))
    check = by_name(replay_run(recipe, observed))["average"]
    assert check.result == "pass"
    for spoil in AVERAGES.values():
        wrong = record(recipe, plan=spoil(canonical_plan(recipe)))
        assert results(replay_run(recipe, wrong))["average"] == "fail"
    gone = changed(observed, 1, average={})
    assert results(replay_run(recipe, gone))["average"] == "not tested"


def test_an_average_must_not_move_in_a_skipped_window() -> None:
    recipe = stress(ema="{decay: 0.9}")
    observed = record(recipe, overflow=(3,))
    held = dict(observed.windows[3].average)
    held["classifier.bias"] = held["classifier.bias"] * np.float32(1.001)
    check = by_name(replay_run(recipe, changed(observed, 3, average=held)))["average"]
    assert (check.result, check.window) == ("fail", 3)


def test_an_average_that_hardly_moves_is_not_judged() -> None:
    recipe = stress(ema="{decay: 0.999999}")
    assert results(replay_run(recipe, record(recipe)))["average"] == "not tested"
