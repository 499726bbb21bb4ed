"""Bugs that act late, in lines that are the same in the scripts of every framework."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_parity.self_test.mutation import Mutation
from mutants.shared_bugs import PROGRESS
from mutants.spelling import train, written

UPDATES = "    state.updates += not skipped\n"
CAUSES: Mapping[str, str] = {
    "late_step": "fits optimizer.learning_rate: 0.002, but for lr in the trace, from window ",
    "late_frozen": "fits kernel at rest, from window ",
    "late_tail": "fits accumulation.tail: flush, in every short window from window ",
    "late_clear": "fits gradients of the window before that were not cleared, only in window ",
    "late_decay": "fits no decay, from window ",
    "late_clip": "fits clipping.kind: none, from window ",
    "late_moments": "fits exp_avg_sq/kernel set to zero, only in window ",
    "late_rate": "fits a schedule that goes on after its last step, from window ",
    "late_last": "fits optimizer.learning_rate: 0.002, but for lr in the trace, only in window ",
    "late_skip": "fits an overflow counted as an update, only in window ",
    "late_growth": "no known mistake fits; it differs only in window ",
    "late_bound": "fits loss_scaling.min_scale: ",
}
"""How the cause begins that the toy gives to each of these bugs, in every framework."""

LATE: tuple[Mutation, ...] = (
    written("late_rate", train(PROGRESS, PROGRESS.replace("min(1.0, ", "1.0 * ("))),
    written(
        "late_skip",
        train(
            UPDATES,
            '    state.skips = getattr(state, "skips", 0) + skipped\n'
            "    state.updates += not skipped or state.skips == 4\n",
        ),
    ),
)
