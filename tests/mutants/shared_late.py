"""Bugs that act late, in lines that are the same in the scripts of every framework."""

from __future__ import annotations

from crosscast_parity.self_test.mutation import Mutation
from mutants.shared_bugs import PROGRESS
from mutants.spelling import train, written

UPDATES = "    state.updates += not skipped\n"

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
