"""Search for the variation of a recipe that matches the records of a script, without training.

Singles first, all of them, so that the evidence also shows what does not explain; then numbers are
fitted, then the best are made larger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from crosscast.variations.changes import value_at
from crosscast.variations.table import Variation, variations, vary
from crosscast_parity.bisect.hypotheses import AXES, fitted, hypotheses, rounder
from crosscast_parity.bisect.judgement import RecordedRuns
from crosscast_parity.bisect.trials import Protocol, Trial, gap_of_trial
from crosscast_parity.evidence.recorded_run import Gap

LARGEST = 3
"""Fields of a set at most."""
BEAM = 5
"""Sets that are made larger."""
READ_OF_EACH = 2
"""Values of a field that are taken from the traces."""
GIVEN = ("data.train_rows",)
"""What all programs are given alike."""

Set = tuple[Variation, ...]


@dataclass(slots=True)
class RecordSearch:
    """The search so far. `others`: sets that explain the records as well as the best."""

    recorded: RecordedRuns
    protocol: Protocol
    tried: dict[Set, Trial] = field(default_factory=dict)
    others: list[Set] = field(default_factory=list)

    def search(self, claimed: Trial) -> Set:
        """Return the best set that the records show; whether it explains is for `explains`."""
        candidates = self._candidates()
        kept: list[Set] = [()]
        self.tried[()] = claimed
        for size in range(1, LARGEST + 1):
            sets = _extended(kept, candidates)
            for changes in sets:
                self._try(changes)
            ranked = self._ranked(sets)
            if not ranked:
                break
            tabled = _distinct(ranked)
            if size == 1 and not self.explains(ranked[0]):
                fits = self._fit(ranked)
                candidates += [fit[0] for fit in fits]
                ranked = self._ranked([*sets, *fits])
            if self.explains(ranked[0]):
                best = self._smallest(ranked[0])
                self.others = self._as_good(best, ranked)
                return best
            kept = _distinct(ranked)[:BEAM]
            # A number that was fitted alone is off where a second one is wrong, too.
            fields = [_fields(changes) for changes in kept]
            kept += [
                changes for changes in tabled if _fields(changes) in fields and changes not in kept
            ]
        return min(
            self.tried, key=lambda changes: (gap_of_trial(self.tried[changes]), len(changes))
        )

    def _candidates(self) -> list[Variation]:
        """Return the variations that an objecting check can see and no cheap check refutes.

        Of the values that were read off the traces the nearest of each field are enough.
        """
        recorded, recipe = self.recorded, self.recorded.recipe
        parts, nothing = recorded.failing_parts(), recorded.estimated_gap(())
        tried = list(variations(recipe, unfit=True))
        known = {str(change) for change in tried}
        read = [
            hypothesis
            for hypothesis in hypotheses(recipe, recorded.runs)
            if str(hypothesis) not in known
        ]
        gaps = {
            change: gap
            for change in (*tried, *read)
            if change.path not in GIVEN
            and recorded.parts_of(change) & parts
            and (gap := recorded.estimated_gap((change,))) <= nothing
        }
        nearest = sorted(
            (change for change in read if change in gaps), key=lambda change: gaps[change]
        )
        counts = Counter[str]()
        chosen = []
        for change in nearest:
            counts[change.path] += 1
            if counts[change.path] <= READ_OF_EACH:
                chosen.append(change)
        return [change for change in tried if change in gaps] + chosen

    def _try(self, changes: Set) -> Trial:
        if changes not in self.tried:
            checks = self.recorded.by_records(changes)
            self.tried[changes] = self.protocol.note(changes, "records", checks)
        return self.tried[changes]

    def explains(self, changes: Set) -> bool:
        """Whether the records have nothing against a set."""
        return changes in self.tried and self.tried[changes].closed

    def _ranked(self, sets: Sequence[Set]) -> list[Set]:
        """Return the sets by what they leave open; the value of the headline decides ties."""

        def key(changes: Set) -> tuple[Gap, int, float]:
            trial = self.tried[changes]
            unfit = sum(not change.fits for change in changes)
            return (gap_of_trial(trial), unfit, trial.value or 0.0)

        return sorted(sets, key=key)

    def _fit(self, ranked: Sequence[Set]) -> list[Set]:
        """Fit every number of one field, from the best value that was tried or claimed."""
        sets: list[Set] = []
        for changes in _distinct(ranked):
            axis = AXES.get(changes[0].path)
            claimed = value_at(self.recorded.recipe.model_dump(), changes[0].path)
            if axis is None or claimed is None:
                continue
            better = gap_of_trial(self.tried[changes]) < gap_of_trial(self.tried[()])
            best = fitted(
                axis, changes[0].value if better else claimed, partial(self._badness, axis.path)
            )
            for value in () if best is None else (*rounder(best), best):
                varied = vary(self.recorded.recipe, axis.path, value)
                if varied is None:
                    continue
                sets.append((varied,))
                if self._try((varied,)).closed:
                    break
        return sets

    def _badness(self, path: str, value: float) -> float:
        varied = vary(self.recorded.recipe, path, value)
        if varied is None:
            return float("inf")
        checks = self.recorded.by_records((varied,))
        trial = Protocol(self.protocol.headline).note((), "records", checks)
        return trial.excess if trial.failing else -1.0 / (1e-12 + (trial.value or 0.0))

    def _smallest(self, changes: Set) -> Set:
        """Leave out what is not needed."""
        for change in changes:
            rest = tuple(other for other in changes if other is not change)
            if rest and self._try(rest).closed:
                return self._smallest(rest)
        return changes

    def _as_good(self, best: Set, ranked: Sequence[Set]) -> list[Set]:
        """Return sets of other fields that explain the records, too, the best for each fields."""
        seen = {_fields(best)}
        sets = []
        for changes in ranked:
            paths = _fields(changes)
            if self.explains(changes) and len(changes) == len(best) and paths not in seen:
                seen.add(paths)
                sets.append(changes)
        return sets


def _extended(kept: Sequence[Set], candidates: Sequence[Variation]) -> list[Set]:
    """Return every kept set with one more field, each set once."""
    sets: dict[frozenset[tuple[str, str]], Set] = {}
    for changes in kept:
        used = {change.path for change in changes}
        for change in candidates:
            if change.path not in used:
                larger = (*changes, change)
                sets.setdefault(frozenset((c.path, str(c)) for c in larger), larger)
    return list(sets.values())


def _distinct(ranked: Sequence[Set]) -> list[Set]:
    """Return the best set of every combination of fields."""
    seen: dict[frozenset[str], Set] = {}
    for changes in ranked:
        seen.setdefault(_fields(changes), changes)
    return list(seen.values())


def _fields(changes: Set) -> frozenset[str]:
    return frozenset(change.path for change in changes)
