"""Derive the verdict on a pair of programs from its checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from crosscast_parity.checks.check import Check
from crosscast_parity.checks.kinds import LEVELS
from crosscast_parity.judge.records import ComparisonVerdict, Entrant, Run
from crosscast_parity.planning.half_precision import in_words

ORDER = {level: place for place, level in enumerate(LEVELS)}
NEEDED = {"L0a", "L2"}
"""Equivalence requires a passed check of each of these levels."""
EXPECTED = ("L0b", "L0d", "L1b", "L1a")
"""Levels that the sentence names if nothing was tested there."""
SHOWN = {
    "L1b": ("update",),
    "L2": ("trajectory",),
    "L3": ("eval loss",),
}
"""What the sentence of an equivalent pair quotes."""


def conclude(
    entrant: Entrant,
    reference: Entrant,
    checks: Sequence[Check],
    runs: Sequence[Run],
    reference_runs: Sequence[Run],
) -> tuple[ComparisonVerdict, str]:
    """Judge a program against the reference.

    Args:
        entrant: the program.
        reference: the program it is compared with.
        checks: of the pair, with the program's own.
        runs: of the program.
        reference_runs: of the reference, but for its perturbed ones.
    """
    verdict, wording = _conclude(entrant, reference, by_level(checks), runs, reference_runs)
    halves = {e.name: e.execution for e in (entrant, reference)}
    half = any(check.level == "L1c" for check in checks)
    return verdict, wording + (f" (half precision: {in_words(halves)})" if half else "")


def _conclude(
    entrant: Entrant,
    reference: Entrant,
    checks: Sequence[Check],
    runs: Sequence[Run],
    reference_runs: Sequence[Run],
) -> tuple[ComparisonVerdict, str]:
    broken = unfinished(runs)
    for check in checks:
        if check.result == "fail":
            also = f"; also, {broken[1]}" if broken else ""
            return "DIFFERENT", f"different at {place(check)}: {check.wording}{also}"
    for check in by_level(reference.checks):
        if check.result == "fail":
            words = f"the reference {reference.name} itself fails {place(check)}: {check.wording}"
            return "DIFFERENT", words
    broken = broken or unfinished(reference_runs)
    if broken:
        return broken
    for check in checks:
        if check.result == "unclear":
            return "INCONCLUSIVE", f"{place(check)}: {check.wording}"
    idle = next((run for run in runs if run.needless and run.name == "faults"), None)
    if idle:
        words = f"no overflow was tested: {idle.outcome.message}; --fault none compares without"
        return "NOT TESTED", words
    passed = {check.level for check in checks if check.result == "pass"}
    if not passed >= NEEDED:
        missing = ", ".join(sorted(NEEDED - passed))
        return "NOT TESTED", f"nothing was compared at {missing}"
    return "EQUIVALENT", "equivalent within measured rounding noise: " + summary(checks)


def place(check: Check) -> str:
    """Return where a check stands: `L1b update (tiny/float32-initial)`."""
    where = "/".join(part for part in (check.stage, check.run) if part)
    return f"{check.level} {check.name}" + (f" ({where})" if where else "")


def by_level(checks: Iterable[Check]) -> list[Check]:
    """The lowest level first: it says most about the cause."""
    return sorted(checks, key=lambda check: ORDER[check.level])


def unfinished(runs: Sequence[Run]) -> tuple[ComparisonVerdict, str] | None:
    """Return the verdict on runs that came to no end; a crash is never a difference.

    A missing package or kernel is no error either.
    """
    reasons: dict[ComparisonVerdict, str] = {}
    for run in runs:
        outcome = run.outcome
        if outcome.complete or run.needless:
            continue
        reason = outcome.message or "no message"
        if outcome.kind == "cannot_run":
            reasons.setdefault("NOT TESTED", f"{run.contestant} cannot run here: {reason}")
        elif outcome.kind == "interrupted":
            reasons.setdefault("NOT TESTED", "interrupted")
        else:
            rows = run.rows
            last = f", last window {rows[-1].window}" if rows else ", no window finished"
            reasons.setdefault("ERROR", f"run {run.title} {outcome.kind}: {reason}{last}")
    worst = sorted(reasons.items())  # ERROR comes before NOT TESTED
    return worst[0] if worst else None


def summary(checks: Sequence[Check]) -> str:
    """Return the figures of an equivalent pair: of every kind of check the worst."""
    parts = ["trace exact"]
    for level, names in SHOWN.items():
        for name in names:
            good = [c for c in checks if (c.level, c.name) == (level, name) and c.result == "pass"]
            if good:
                worst = max(good, key=lambda check: check.value or 0.0)
                parts.append(f"{name} {worst.wording}")
    left = untested(checks)
    if left:
        parts.append(f"not tested: {', '.join(left)}")
    return ", ".join(parts)


def untested(checks: Sequence[Check]) -> list[str]:
    """Return the levels of which nothing was tested, and else the checks that were nowhere."""
    tried = {check.level for check in checks}
    never = [level for level in EXPECTED if level not in tried]
    passed = {(check.level, check.name) for check in checks if check.result == "pass"}
    levels = {level for level, _ in passed}
    idle = [c for c in checks if c.result == "not tested" and (c.level, c.name) not in passed]
    partly = [f"{c.level} {c.name}" if c.level in levels else c.level for c in idle]
    return list(dict.fromkeys([*partly, *never]))
