"""Running statistics of custom models after a run, against the reference's: L1a after a short one,
L2 after the longest."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
ROUNDING = 1e-2
"""Share by which a fitted factor may be over n / (n - 1)."""
MOST_KEPT = 0.999
"""Share of the start that may have stayed; it is 1 if another momentum made the difference."""


def check_statistics(
    ours: Arrays,
    reference: Arrays,
    near: Sequence[Arrays],
    start: Arrays,
    window: int,
    level: Level = "L1a",
    *,
    apart: Collection[str] = (),
    fewest: int = 2,
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
        apart: running variances to which one adds the biased variance of a batch and the other the
            unbiased one, which is n / (n - 1) times as large. They are compared without that
            factor.
        fewest: rows of the smallest micro-batch, which has at least as many values per channel: a
            variance is apart by n / (n - 1) of that many at most.
    """
    room = ROOM if level == "L1a" else FACTOR
    most = max(2, fewest) / (max(2, fewest) - 1) * (1 + ROUNDING)
    ours, factors = _with_factors(ours, reference, start, apart, most)
    noise = {
        each: room * max(_distance(other, reference, start, each) for other in near)
        for each in reference
    }
    known = [each for each in reference if noise[each] <= CHAOS]
    errors = [
        TensorError(
            window, each, max(0.0, _distance(ours, reference, start, each) - factors.get(each, 0.0))
        )
        for each in known
    ]
    limit = max([limit_of(level, "running statistics"), *(noise[each] for each in known)])
    check = judge_tensors(level, "running statistics", errors, limit, nothing=NOTHING)
    lost = len(noise) - len(known)
    if lost and check.result == "pass":
        words = f"{check.wording}; rounding decides about {lost} of {len(noise)} tensors"
        check = replace(check, wording=words)
    if factors and check.result == "pass":
        words = f"without the factor n / (n - 1) of {len(factors)} running variances, which differ"
        check = replace(
            check, wording=f"{check.wording}; {words} by up to {max(factors.values()):.2g}"
        )
    return check


def _with_factors(
    ours: Arrays, reference: Arrays, start: Arrays, apart: Collection[str], most: float
) -> tuple[Arrays, dict[str, float]]:
    """Return statistics with the factor of the reference, and by how much each factor is not 1.

    After any number of batches of n values, with the share k of the start that has stayed, they are
    `k start + v` and `k start + f v`, so one is `f` times the other plus a share of the start.
    Both are fitted, f alone if k would be negative. A short batch has another n, so what is left
    may be as large as `f - 1`. Both `f` and its inverse are at most `most`.
    """
    fitted_statistics, factors = dict(ours), {}
    for name in apart:
        if name not in ours or name not in reference or ours[name].shape != reference[name].shape:
            continue
        if not all(np.isfinite(each[name]).all() for each in (ours, reference, start)):
            continue
        columns = np.stack([ours[name].reshape(-1), start[name].reshape(-1)], 1).astype(np.float64)
        fitted, *_ = np.linalg.lstsq(columns, reference[name].reshape(-1), rcond=None)
        factor, rest = map(float, fitted)  # the rest is k (1 - f)
        if rest * (1 - factor) < 0:  # after many batches k is 0 but for short batches
            ours_alone, theirs = columns[:, 0], reference[name].reshape(-1).astype(np.float64)
            factor, rest = float(ours_alone @ theirs / (ours_alone @ ours_alone)), 0.0
        stayed = rest * (1 - factor) <= MOST_KEPT * (1 - factor) ** 2
        if 1 / most <= factor <= most and stayed:
            fitted = np.array([factor, rest])
            fitted_statistics[name] = (columns @ fitted).reshape(ours[name].shape)
            factors[name] = abs(factor - 1)
    return fitted_statistics, factors


def _distance(ours: Arrays, reference: Arrays, start: Arrays, name: str) -> float:
    if name not in ours or ours[name].shape != reference[name].shape:
        return float("inf")
    moved = norm(reference[name].astype(np.float64) - start[name])
    return ratio(norm(ours[name].astype(np.float64) - reference[name]), moved)
