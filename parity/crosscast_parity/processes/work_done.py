"""How far a comparison is: the work that is done, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from crosscast_parity.processes.process import Outcome
from crosscast_parity.processes.sessions import EventKind, SessionRun


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a comparison is. `done` and `total` are in a unit of work, not in runs.

    `title`: of the run that began or ended; of a finding what was found, in words.
    """

    kind: EventKind | Literal["finding"]
    title: str
    outcome: Outcome | None
    done: float
    total: float


OnProgress = Callable[[Progress], None]


def ignore(progress: Progress) -> None:
    """Say nothing when a run begins or ends."""


def without_findings(on_progress: OnProgress) -> OnProgress:
    """Return a function that passes on all events but the findings."""

    def pass_on(progress: Progress) -> None:
        if progress.kind != "finding":
            on_progress(progress)

    return pass_on


@dataclass(slots=True)
class WorkCounter:
    """Adds up the finished work, for the progress."""

    on_progress: OnProgress
    total: float = 0.0
    done: float = 0.0
    seen: set[str] = field(default_factory=set)

    def __call__(self, kind: EventKind, run: SessionRun, outcome: Outcome | None) -> None:
        """Count a finished run once, and pass on the event."""
        if kind == "ended" and run.key not in self.seen:
            self.seen.add(run.key)
            self.done += run.cost
        self.on_progress(Progress(kind, run.title, outcome, self.done, self.total))

    def tell(self, finding: str) -> None:
        """Pass on what was found while runs are being made."""
        self.on_progress(Progress("finding", finding, None, self.done, self.total))
