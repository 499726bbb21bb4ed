"""Level L1a for custom models: running statistics after a short run, against the reference's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from crosscast_parity.checks.check import Check
from crosscast_parity.checks.table import limit_of
from crosscast_parity.levels.model import CHAOS, ROOM
from crosscast_parity.levels.recompute import norm, ratio
from crosscast_parity.levels.tensor_checks import TensorError, judge_tensors

Arrays = Mapping[str, np.ndarray]


def check_statistics(
    ours: Arrays, reference: Arrays, shifted: Arrays, start: Arrays, window: int
) -> Check:
    """Compare statistics by name, as a share of how far the reference's have moved.

    Args:
        ours: after the run of the program in question.
        reference: after the same run of the reference.
        shifted: after a run of the reference that rounds otherwise; ours may be off by `ROOM` times
            as much.
        start: before the run.
        window: the last one of the run.
    """
    noise = {each: ROOM * _off(shifted, reference, start, each) for each in reference}
    known = [each for each in reference if noise[each] <= CHAOS]
    errors = [TensorError(window, each, _off(ours, reference, start, each)) for each in known]
    limit = max([limit_of("L1a", "running statistics"), *(noise[each] for each in known)])
    nothing = "rounding decides about all"
    check = judge_tensors("L1a", "running statistics", errors, limit, nothing=nothing)
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
