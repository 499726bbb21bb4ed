"""A check: one statistic against one limit, with its wording."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from crosscast_parity.checks.kinds import Level
from crosscast_parity.checks.table import find_kind

Result = Literal["pass", "fail", "unclear", "info", "not tested"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finished check.

    `value` is a number of differing windows where `limit` is 0, else the worst deviation in the
    unit of `limit`. `window` is the first window over the limit. `unclear`: not passed, but
    the runs cannot show that the programs differ. `not tested`: what it needs was not recorded, or
    cannot be on this machine. `stage` and `run` say which training it is about.

    Raises:
        ValueError: the table of checks has no row for it.
    """

    level: Level
    name: str
    result: Result
    wording: str
    value: float | None = None
    limit: float | None = None
    window: int | None = None
    stage: str = ""
    run: str = ""

    def __post_init__(self) -> None:
        find_kind(self.level, self.name)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; JSON has no infinity, so that is written as text."""
        return {key: json_number(value) for key, value in asdict(self).items()}


def json_number(value: Any) -> Any:
    """Return `value`, or its name if it is a float that JSON cannot hold."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True, slots=True)
class Deviation:
    """How far one window is off, with both values for the message."""

    window: int
    size: float
    ours: float | None
    reference: float | None


def relative(ours: float | None, reference: float | None) -> float:
    """Return |ours - reference| / |reference|; a value only one side has is infinitely far off."""
    if ours is None or reference is None:
        return 0.0 if ours is reference else math.inf
    if ours == reference:
        return 0.0
    return abs(ours - reference) / abs(reference) if reference else math.inf


def judge(
    level: Level, name: str, deviations: Iterable[Deviation], limit: float, *, nothing: str
) -> Check:
    """Turn deviations into a check: the worst against the limit, or the count if it is 0.

    Args:
        level: level of the check.
        name: what is compared.
        deviations: one per window.
        limit: largest size that passes.
        nothing: wording of the `unclear` result if there is no window to judge.
    """
    measured = list(deviations)
    if not measured:
        return Check(level=level, name=name, result="unclear", wording=nothing, limit=limit)
    over = [d for d in measured if not d.size <= limit]
    value = float(len(over)) if limit == 0 else max(d.size for d in measured)
    if not over:
        words = f"{value:.2g} (limit {limit:g})" if value else f"equal in {windows(len(measured))}"
        return Check(level=level, name=name, result="pass", wording=words, value=value, limit=limit)
    first = over[0]
    words = (
        f"window {first.window}: {number(first.ours)}, expected {number(first.reference)}"
        f" ({windows(len(over))} of {len(measured)} over the limit)"
    )
    return Check(
        level=level,
        name=name,
        result="fail",
        wording=words,
        value=value,
        limit=limit,
        window=first.window,
    )


def number(value: float | None) -> str:
    """Return a value of a trace as people read it."""
    return "not finite" if value is None else f"{value:.9g}"


def windows(count: int) -> str:
    """Return a number of windows in words."""
    return f"{count} window" if count == 1 else f"{count} windows"


def failures(checks: Iterable[Check]) -> Iterator[Check]:
    """The checks that show a difference."""
    return (check for check in checks if check.result == "fail")
