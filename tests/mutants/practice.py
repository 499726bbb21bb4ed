"""What common practice says about the same runs: rules that people use instead of a harness."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, variance

from crosscast_parity.checks.statistics import quantile
from crosscast_parity.judge.records import Run
from crosscast_parity.recordings.trace import TraceRow

RULES = {
    "loss-5": "loss within 5 % in every 5th of the first 50 windows",
    "accuracy-1": "final accuracy within 1 point",
    "accuracy-0.15": "final accuracy within 0.15 points",
}
T_TEST = "t-test"
T_TEST_TITLE = "unpaired t-test of the evaluation loss over seeds, level 0.05"
LOSS_SHARE, LOSS_EVERY, LOSS_WINDOWS = 0.05, 5, 50
LEVEL = 0.05


def alarms(ours: Run, reference: Run) -> tuple[str, ...]:
    """Return the rules that call two programs different, by one run of each."""
    found = {"loss-5": losses_differ(ours.rows, reference.rows)}
    mine, other = _accuracy(ours), _accuracy(reference)
    for points in ("1", "0.15"):
        found[f"accuracy-{points}"] = accuracies_differ(mine, other, float(points) / 100)
    return tuple(name for name, differs in found.items() if differs)


def losses_differ(ours: Sequence[TraceRow], reference: Sequence[TraceRow]) -> bool:
    """Compare every 5th loss of the first 50 windows."""
    pairs = list(zip(ours, reference, strict=False))[:LOSS_WINDOWS:LOSS_EVERY]
    return len(ours) < min(LOSS_WINDOWS, len(reference)) or any(
        _apart(a.loss, b.loss) for a, b in pairs
    )


def accuracies_differ(ours: float | None, reference: float | None, most: float) -> bool:
    """Compare two accuracies; a program without one differs."""
    if ours is None or reference is None:
        return ours is not reference
    return abs(ours - reference) > most + 1e-12


def means_differ(ours: Sequence[float], reference: Sequence[float]) -> bool:
    """Unpaired t-test at the level 0.05, for unequal variances (Welch, Biometrika 34, 1947)."""
    apart = abs(fmean(ours) - fmean(reference))
    counts = len(ours), len(reference)
    if min(counts) < 2:
        return False
    parts = variance(ours) / counts[0], variance(reference) / counts[1]
    error = math.sqrt(sum(parts))
    if not error:
        return apart > 0
    shares = (part / sum(parts) for part in parts)
    degrees = 1 / sum(share**2 / (n - 1) for share, n in zip(shares, counts, strict=True))
    return apart > quantile(LEVEL / 2, degrees) * error


def _accuracy(run: Run) -> float | None:
    status = run.outcome.status
    return status.eval.accuracy if status and status.eval else None


def _apart(ours: float | None, reference: float | None) -> bool:
    if ours is None or reference is None:
        return ours is not reference
    return abs(ours - reference) > LOSS_SHARE * abs(reference)


def titles(with_seeds: bool) -> Mapping[str, str]:
    """Return the rules in words, in the order of the table."""
    return {**RULES, **({T_TEST: T_TEST_TITLE} if with_seeds else {})}
