"""The loss in the trace of made-up runs, beside the losses of their micro-batches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crosscast.plan.operations import Dtype
from crosscast.reference.rounding import round_to
from crosscast_parity.levels.window_loss import check_window_loss
from crosscast_parity.recordings.observations import ObservedWindow
from replay_fakes import record, stress

UNITS = ("sample", "microbatch")


def told(window: ObservedWindow, loss: float | None) -> ObservedWindow:
    return replace(window, row=replace(window.row, loss=loss))


@pytest.mark.parametrize("unit", UNITS)
def test_the_loss_of_a_right_window_is_that_of_its_micro_batches(unit: str) -> None:
    seen = record(stress(accumulation=f"{{steps: 3, normalize_by: {unit}}}"), overflow=[1]).windows
    check = check_window_loss(seen)
    assert (check.result, check.level) == ("pass", "L1b")
    assert check.value is not None
    assert check.value < 1e-6


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_a_rounded_loss_is_seen(half: Dtype) -> None:
    seen = record(stress()).windows
    wrong = [told(w, float(round_to(np.array(w.row.loss), half))) for w in seen]
    assert check_window_loss(wrong).result == "fail"


def test_what_was_not_observed_is_not_tested() -> None:
    seen = record(stress()).windows
    for windows in (
        [],
        [told(w, None) for w in seen],
        [replace(w, losses=(), factors=()) for w in seen],
    ):
        assert check_window_loss(windows).result == "not tested"
