"""Clips that a program makes itself, by the gradients before and after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crosscast_parity.reading.evidence import Evidence
from crosscast_parity.recordings.observations import ObservedWindow

SAME = 1e-4
"""Relative difference of factors and limits below which they are one."""
_DIGITS = (1, 2, 3)
"""Significant digits of a limit as a person writes it, tried in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """A limit that explains the gradients that the optimizer was given."""

    kind: str
    limit: float
    windows: int
    """How many of the recorded updates it changed."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """One gradient as the backward passes left it, and as the optimizer got it."""

    total: np.ndarray
    applied: np.ndarray

    @property
    def factor(self) -> float:
        """What the one is multiplied by to give the other; 1 of zeros."""
        square = float(np.vdot(self.total, self.total))
        return float(np.vdot(self.total, self.applied)) / square if square else 1.0


def observed(evidence: Evidence) -> list[ObservedWindow]:
    """Return the recorded updates of an undisturbed run that show gradients before and after."""
    windows = evidence.program_runs[0].windows
    return [
        w for w in windows if not w.row.skipped and w.applied and set(w.applied) <= set(w.total)
    ]


def changes_gradients(windows: Sequence[ObservedWindow]) -> bool:
    """Whether the optimizer got other gradients than the backward passes computed."""
    return any(not _near(p.applied, p.total) for window in windows for p in _pairs(window))


def clip_of(windows: Sequence[ObservedWindow]) -> Clip | None:
    """Return the clip that explains all recorded updates; None if none does."""
    for kind in (_by_global_norm, _by_norms, _by_value):
        clip = kind([_pairs(window) for window in windows])
        if clip is not None:
            return clip
    return None


def _pairs(window: ObservedWindow) -> list[_Pair]:
    return [
        _Pair(
            np.asarray(window.total[name], np.float64) / window.row.scale,
            np.asarray(applied, np.float64),
        )
        for name, applied in window.applied.items()
    ]


def _near(left: np.ndarray, right: np.ndarray) -> bool:
    return float(np.linalg.norm(left - right)) <= SAME * float(np.linalg.norm(right))


def _by_global_norm(windows: Sequence[Sequence[_Pair]]) -> Clip | None:
    whole = [
        [
            _Pair(
                np.concatenate([pair.total.ravel() for pair in pairs]),
                np.concatenate([pair.applied.ravel() for pair in pairs]),
            )
        ]
        for pairs in windows
    ]
    return _scaled("global_norm", whole)


def _by_norms(windows: Sequence[Sequence[_Pair]]) -> Clip | None:
    return _scaled("per_param_norm", windows)


def _scaled(kind: str, windows: Sequence[Sequence[_Pair]]) -> Clip | None:
    """Return a clip by the norm of each of some gradients."""
    clipped: list[float] = []
    free = [0.0]
    changed = 0
    for pairs in windows:
        before = len(clipped)
        for pair in pairs:
            norm, factor = float(np.linalg.norm(pair.total)), pair.factor
            if not _near(pair.applied, factor * pair.total):
                return None
            if factor < 1 - SAME:
                clipped.append(norm * factor)
            elif factor <= 1 + SAME:
                free.append(norm)
            else:
                return None
        changed += len(clipped) > before
    return _judged(kind, clipped, max(free), changed)


def _by_value(windows: Sequence[Sequence[_Pair]]) -> Clip | None:
    """Return a clip of each element."""
    clipped: list[float] = []
    free = [0.0]
    changed = 0
    for pairs in windows:
        before = len(clipped)
        for pair in pairs:
            limit = float(np.abs(pair.applied).max(initial=0.0))
            if not _near(pair.applied, np.clip(pair.total, -limit, limit)):
                return None
            held = _near(pair.applied, pair.total)
            (free if held else clipped).append(limit)
        changed += len(clipped) > before
    return _judged("value", clipped, max(free), changed)


def _judged(kind: str, clipped: Sequence[float], free: float, windows: int) -> Clip | None:
    """Return a clip if one limit explains what was clipped and what was not."""
    if not clipped:
        return None
    limit = _shortest_number(float(np.median(clipped)))
    if any(abs(each - limit) > 10 * SAME * limit for each in clipped) or free > limit * (1 + SAME):
        return None
    return Clip(kind=kind, limit=limit, windows=windows)


def _shortest_number(limit: float) -> float:
    """Return the shortest number that a limit may have been written as."""
    for digits in _DIGITS:
        short = float(f"{limit:.{digits}g}")
        if abs(short - limit) <= SAME * limit:
            return short
    return limit
