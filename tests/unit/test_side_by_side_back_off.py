"""Scales after an overflow, where the original adjusts them after every backward pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from crosscast_parity.side_by_side.back_off import as_after_updates
from crosscast_parity.side_by_side.comparison import Bounds, differences, first_of
from crosscast_parity.side_by_side.recording import Recording
from recorded_runs import SKIP, attempt, recording

RULES = {"growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000}


def run(*scales: float, optimizers: tuple[int, ...] = (0,)) -> Recording:
    """Return a run whose first attempt, with a scale of 8, overflows; `optimizers` take turns."""
    rest = [
        attempt(scale=scale, rules=RULES, optimizer=optimizers[(n + 1) % len(optimizers)])
        for n, scale in enumerate(scales)
    ]
    return recording(replace(SKIP, rules=RULES), *rest)


def seen(old: Recording, new: Recording) -> tuple[str, int]:
    """Return what still differs with the moment of the adjustment in mind, and the notes."""
    explained, notes = as_after_updates(old, new)
    found = first_of(differences(explained, new, Bounds()))
    return found.what if found else "", len(notes)


def test_a_scale_lowered_once_is_no_difference() -> None:
    assert seen(run(4.0, 4.0), run(4.0, 4.0)) == ("", 0)


def test_a_scale_lowered_after_both_passes_is_noted() -> None:
    assert seen(run(2.0, 2.0), run(4.0, 4.0)) == ("", 1)


def test_any_other_scale_is_a_difference() -> None:
    for wrong in (8.0, 2.0, 1.0):
        assert seen(run(4.0, 4.0), run(wrong, wrong))[0] == "scale"
    for wrong in (8.0, 2.0, 1.0):
        assert seen(run(2.0, 2.0), run(wrong, wrong))[0] == "scale"
    assert seen(run(4.0, 4.0), run(4.0, 8.0))[0] == "scale"


def test_one_scale_for_all_losses_is_noted() -> None:
    two = {"optimizers": (0, 1)}
    assert seen(run(8.0, 4.0, 8.0, **two), run(4.0, 4.0, 4.0, **two)) == ("", 1)
    assert seen(run(4.0, 4.0, 4.0, **two), run(8.0, 4.0, 4.0, **two)) == ("", 1)
    assert seen(run(8.0, 4.0, **two), run(2.0, 4.0, **two))[0] == "scale"
    assert seen(run(8.0, 4.0, **two), run(4.0, 8.0, **two))[0] == "scale"


def test_rules_that_no_run_reaches_are_compared() -> None:
    def differs(**other: Any) -> tuple[str, int]:
        new = [replace(a, rules={**RULES, **other}) for a in run(4.0).attempts]
        return seen(run(4.0), recording(*new))

    assert differs(growth_interval=200) == ("growth_interval", 0)
    assert differs(growth_factor=4.0) == ("growth_factor", 0)


def test_a_constant_scale_must_not_grow() -> None:
    old = recording(attempt(scale=8.0, rules={"dynamic": False}))
    for interval, what in ((2**31 - 1, ""), (2000, "growth_interval")):
        new = recording(attempt(scale=8.0, rules={**RULES, "growth_interval": interval}))
        assert seen(old, new)[0] == what
