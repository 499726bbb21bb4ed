"""Level L1b: the loss that a trace tells, against the losses of its micro-batches.

Each is added as it goes into the backward pass, without the loss scale: what a program rounds on
the way shows here, and nowhere else, since no gradient depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from crosscast_parity.checks.check import Check, Deviation, judge, relative
from crosscast_parity.checks.table import limit_of
from crosscast_parity.levels.tensor_checks import untested
from crosscast_parity.recordings.observations import ObservedWindow

NAME = "window loss"


def check_window_loss(seen: Sequence[ObservedWindow]) -> Check:
    """Check the loss in the row of every window that was not skipped.

    Args:
        seen: recorded windows of a run in one process.
    """
    deviations = list(_deviations(seen))
    if not deviations:
        return untested("L1b", NAME, "no window tells its loss and those of its micro-batches")
    return judge("L1b", NAME, deviations, limit_of("L1b", NAME), nothing="")


def _deviations(seen: Sequence[ObservedWindow]) -> Iterator[Deviation]:
    for window in seen:
        pairs = list(zip(window.losses, window.factors, strict=True))
        numbers = [
            (loss, factor) for loss, factor in pairs if loss is not None and factor is not None
        ]
        told = window.row.loss
        if window.row.skipped or told is None or not numbers or len(numbers) < len(pairs):
            continue
        expected = math.fsum(loss * factor for loss, factor in numbers) / window.row.scale
        yield Deviation(window.window, relative(told, expected), told, expected)
