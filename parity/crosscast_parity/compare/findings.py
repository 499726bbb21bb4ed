"""What the first windows have shown, told while the long runs are still being made.

The recorded runs of a stage are judged as soon as the reference and another program have made them.
The checks are those of the report, which finds them judged; nothing is concluded from them here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from crosscast_parity.checks.check import Check, Result, windows
from crosscast_parity.checks.kinds import Level
from crosscast_parity.compare.stage_checks import own_checks, pair_checks
from crosscast_parity.planning.runs import RunSpec, is_judged_first
from crosscast_parity.runs.outcomes import FinishedRun, StageResult

EARLY: tuple[Level, ...] = ("L1a", "L1c", "L1b", "L1d", "gate", "L0b", "L0d")
"""Levels that need no envelope: what they say of these runs is final."""
WORST: tuple[Result, ...] = ("fail", "unclear", "pass", "not tested")


class Findings:
    """Takes runs as they are made, and tells a line for every stage and program.

    Args:
        results: the stages; nothing is put into them.
        reference: the program that the others are compared with.
        tell: called with every line.
    """

    def __init__(
        self, results: Sequence[StageResult], reference: str, tell: Callable[[str], None]
    ) -> None:
        self._results = {result.stage.name: replace(result, finished={}) for result in results}
        self._reference = reference
        self._tell = tell
        self._missing: dict[tuple[str, str], set[str]] = {}
        self._own: dict[tuple[str, str], tuple[Check, ...]] = {}
        self._reported: set[tuple[str, str]] = set()

    def expect(self, specs: Iterable[RunSpec]) -> None:
        """Take note of the runs that will be made."""
        for spec in filter(is_judged_first, specs):
            self._missing.setdefault((spec.stage, spec.contestant), set()).add(spec.name)

    def __call__(self, finished: FinishedRun) -> None:
        """Add a run; report the finding if it was the last missing one."""
        spec = finished.spec
        missing = self._missing.get((spec.stage, spec.contestant), set())
        if spec.name not in missing:
            return
        missing.discard(spec.name)
        self._results[spec.stage].finished[(spec.contestant, spec.name)] = finished
        if missing or not self._is_compared(spec.stage):
            return
        self._checks(spec.stage, spec.contestant)  # now, and not when the others are there
        if self._missing.get((spec.stage, self._reference), {""}):
            return
        for stage, name in self._missing:
            ready = stage == spec.stage and not self._missing[stage, name]
            if ready and name != self._reference and (stage, name) not in self._reported:
                self._reported.add((stage, name))
                self._tell(self._line(stage, name))

    def _is_compared(self, stage: str) -> bool:
        """Whether somebody will be compared with the reference in a stage."""
        return any(s == stage and name != self._reference for s, name in self._missing)

    def _line(self, stage: str, name: str) -> str:
        result, reference = self._results[stage], self._reference
        between, _, _ = pair_checks(result, name, reference, None)
        ours, theirs = self._checks(stage, name), self._checks(stage, reference)
        recorded = max(len(finished.spec.record) for finished in result.finished.values())
        return finding(
            f"{name} against {reference}, first {windows(recorded)} of {stage}",
            {name: (*ours, *between), f"{reference} itself": theirs},
        )

    def _checks(self, stage: str, name: str) -> tuple[Check, ...]:
        if (stage, name) not in self._own:
            self._own[stage, name] = own_checks(self._results[stage], name)
        return self._own[stage, name]


def finding(title: str, checks: dict[str, tuple[Check, ...]]) -> str:
    """Return a line: how each level came out that can be judged now, with its worst figure.

    Args:
        title: what the line is about.
        checks: by the program that they are about; of the first and the second alike.
    """
    parts = []
    for level in EARLY:
        judged = [(who, c) for who, own in checks.items() for c in own if c.level == level]
        worst = next((r for r in WORST if any(c.result == r for _, c in judged)), None)
        if worst:
            who, check = max(
                (p for p in judged if p[1].result == worst), key=lambda p: _share(p[1])
            )
            parts.append(f"{level} {_result_word(worst)}{_figure(check, who)}")
    return f"{title}: {'; '.join(parts)}"


def _result_word(result: Result) -> str:
    return "FAIL" if result == "fail" else result


def _figure(check: Check, who: str) -> str:
    if check.result in ("fail", "unclear"):
        return f" ({who}: {check.name}: {check.wording})"
    if check.result == "pass" and check.limit and check.value:
        return f" ({check.name}: {check.value:.2g}, limit {check.limit:g})"
    return ""


def _share(check: Check) -> float:
    """Return how much of its limit a check takes."""
    return (check.value or 0.0) / check.limit if check.limit else 0.0
