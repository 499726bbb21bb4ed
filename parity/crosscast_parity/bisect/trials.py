"""The trials of a bisection and their result.

Two questions share them. `recipes`: which of the fields in which two recipes differ makes
their runs differ? `script`: which recipe does a script follow that does not follow its own?
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from crosscast_parity.checks.check import Check, json_number
from crosscast_parity.evidence.recorded_run import Gap, excess_of, gap_of, worst_of

Outcome = Literal["explained", "not explained", "no difference"]
By = Literal["records", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One recipe that was tried.

    `changes`: what it says that the claimed one does not, `optimizer.eps: 1e-06`; empty for the
    claimed one itself. `failing`: checks that fail under it; None if it could not be tried.
    `excess`: by how many powers of ten they fail in all. `value`, `limit`: of the check that the
    bisection is about. `by`: the records alone, or a training run.
    """

    changes: tuple[str, ...]
    by: By
    failing: int | None
    excess: float = 0.0
    value: float | None = None
    limit: float | None = None

    @property
    def closed(self) -> bool:
        """Whether nothing was left to explain."""
        return self.failing == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisection:
    """What a bisection found.

    `fields`, `changes`: the smallest set that explains the difference, empty if none does.
    `others`: sets of the same size that the records cannot tell from it. `check`: what the values
    of the trials are about, level and name. `trials`: the evidence, in the order it was taken.
    """

    outcome: Outcome
    sentence: str
    fields: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    others: tuple[tuple[str, ...], ...] = ()
    check: str = ""
    trials: tuple[Trial, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        document = asdict(self)
        for trial in document["trials"]:
            trial.update({key: json_number(value) for key, value in trial.items()})
        return document


@dataclass(slots=True)
class Protocol:
    """The trials so far. `headline` is the check whose value every trial reports."""

    headline: Check | None
    trials: list[Trial] = field(default_factory=list)

    def note(self, changes: Iterable[object], by: By, checks: Sequence[Check] | None) -> Trial:
        """Write a trial down."""
        texts = tuple(map(str, changes))
        if checks is None:
            trial = Trial(changes=texts, by=by, failing=None)
        else:
            gap, about = gap_of(checks), self._about(checks)
            trial = Trial(
                changes=texts,
                by=by,
                failing=gap.failing,
                excess=round(gap.excess, 3),
                value=about.value if about else None,
                limit=about.limit if about else None,
            )
        self.trials.append(trial)
        return trial

    def _about(self, checks: Sequence[Check]) -> Check | None:
        """Return the headline's check in a trial; of several runs the worst."""
        if self.headline is None:
            return None
        key = (self.headline.level, self.headline.name)
        same = [c for c in checks if (c.level, c.name) == key and c.value is not None]
        return max(same, key=lambda c: (c.result == "fail", excess_of(c), c.value), default=None)


def headline(checks: Sequence[Check]) -> Check | None:
    """Return the check that a bisection starts from: the worst failing one."""
    return worst_of(checks)


def title(check: Check | None) -> str:
    """Return level and name of a check."""
    return f"{check.level} {check.name}" if check else ""


def from_to(check: Check | None, before: Trial, after: Trial) -> str:
    """Return a check's result before and after, in words."""
    if check is None or before.value is None or after.value is None:
        return f"failing checks {before.failing} -> {after.failing}"
    if not check.limit:
        return f"{title(check)}: windows that differ {before.value:.0f} -> {after.value:.0f}"
    return f"{title(check)} {before.value:.2g} -> {after.value:.2g} (limit {check.limit:g})"


def gap_of_trial(trial: Trial) -> Gap:
    """Return a trial's gap, for sorting; what could not be tried is last."""
    return Gap(10**6, 0.0) if trial.failing is None else Gap(trial.failing, trial.excess)
