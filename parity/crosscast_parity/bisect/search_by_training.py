"""For fields that records cannot show: train with a variation of the recipe and compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from crosscast.variations.table import Variation, variations
from crosscast_parity.bisect.judgement import RecordedRuns
from crosscast_parity.bisect.search_by_records import Set
from crosscast_parity.bisect.trials import Protocol, Trial, gap_of_trial
from crosscast_parity.checks.check import Check
from crosscast_parity.evidence.recorded_run import Gap, gap_of

MOST_RUNS = 24
"""Trainings of one bisection."""

RUN_FIRST = (
    "model.layer_norm_eps",
    "precision.",
    "accumulation.",
    "model.attention_heads",
    "data.shuffle",
    "seed",
    "batch.",
)
"""Fields that records do not show, in the order in which they are tried by training."""


@dataclass(slots=True)
class RunSearch:
    """The trainings so far."""

    recorded: RecordedRuns
    protocol: Protocol
    trials: dict[Set, Trial] = field(default_factory=dict)

    def search(self, best: Set, checks: Sequence[Check]) -> Set:
        """Train with the set that explains the records, then with one more field.

        Return the set that leaves least open; `trials` tells whether that is nothing.
        """
        if best and self._run(best).closed:
            return best
        for change in self._unseen(best):
            if len(self.trials) >= MOST_RUNS:
                break
            if self._run((*best, change)).closed:
                return (*best, change)
        helps = any(gap_of_trial(trial) < gap_of(checks) for trial in self.trials.values())
        return min(self.trials, key=self._open) if helps else best

    def _open(self, changes: Set) -> Gap:
        return gap_of_trial(self.trials[changes])

    def _unseen(self, best: Set) -> list[Variation]:
        """Return variations that the records cannot judge and that can be trained."""
        used = {change.path for change in best}
        candidates = [
            change
            for change in variations(self.recorded.recipe)
            if change.path.startswith(RUN_FIRST) and change.path not in used
        ]
        unseen = [
            candidate
            for candidate in candidates
            if not self.recorded.parts_of(candidate) - {"types", "toy"}
        ]
        return sorted(unseen, key=lambda change: _order(change.path))

    def _run(self, changes: Set) -> Trial:
        assert self.recorded.run is not None
        recipe = self.recorded.translated(self.recorded.recipe, changes)
        self.trials[changes] = self.protocol.note(changes, "run", self.recorded.run(recipe))
        return self.trials[changes]


def _order(path: str) -> int:
    return next(number for number, start in enumerate(RUN_FIRST) if path.startswith(start))
