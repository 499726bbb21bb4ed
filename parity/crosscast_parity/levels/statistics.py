"""Running statistics of custom models after a run, against the reference's: L1a after a short one,
L2 after the longest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from crosscast_parity.checks.check import Check
from crosscast_parity.checks.kinds import Level
from crosscast_parity.checks.table import limit_of
from crosscast_parity.levels.envelope import FACTOR
from crosscast_parity.levels.model import CHAOS, ROOM
from crosscast_parity.levels.recompute import norm, ratio
from crosscast_parity.levels.tensor_checks import TensorError, judge_tensors

Arrays = Mapping[str, np.ndarray]
NOTHING = "rounding decides about all"


def check_statistics(
    ours: Arrays,
    reference: Arrays,
    near: Sequence[Arrays],
    start: Arrays,
    window: int,
    level: Level = "L1a",
) -> Check:
    """Compare statistics by name, as a share of how far the reference's have moved.

    Args:
        ours: after the run of the program in question.
        reference: after the same run of the reference.
        near: after runs of the reference that round otherwise; ours may be off by `ROOM` times as
            much, after the longest run by `FACTOR` times.
        start: before the run.
        window: the last one of the run.
        level: L1a after a short run, L2 after the longest.
    """
    room = ROOM if level == "L1a" else FACTOR
    noise = {
        each: room * max(_off(other, reference, start, each) for other in near)
        for each in reference
    }
    known = [each for each in reference if noise[each] <= CHAOS]
    errors = [TensorError(window, each, _off(ours, reference, start, each)) for each in known]
    limit = max([limit_of(level, "running statistics"), *(noise[each] for each in known)])
    if level == "L2":
        check = judge_tensors("L2", "running statistics", errors, limit, nothing=NOTHING)
    else:
        check = judge_tensors("L1a", "running statistics", errors, limit, nothing=NOTHING)
    lost = len(noise) - len(known)
    if lost and check.result == "pass":
        words = f"{check.wording}; rounding decides about {lost} of {len(noise)} tensors"
        check = replace(check, wording=words)
    return check


def _off(ours: Arrays, reference: Arrays, start: Arrays, name: str) -> float:
    if name not in ours or ours[name].shape != reference[name].shape:
        return float("inf")
    moved = norm(reference[name].astype(np.float64) - start[name])
    return ratio(norm(ours[name].astype(np.float64) - reference[name]), moved)
