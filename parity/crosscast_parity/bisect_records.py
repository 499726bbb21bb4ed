"""Search the variations of a recipe for the one that a script's records follow. Nothing is trained.

Singles first, all of them, so that the evidence also shows what does not explain; then numbers are
fitted, then the best are made larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from crosscast_parity.bisect import Court, Protocol, Trial, gap_of_trial
from crosscast_parity.bisect_guess import AXES, fitted, guesses, rounder
from crosscast_parity.evidence import Gap
from crosscast_parity.variations import Variation, variations, vary

LARGEST = 3
"""Fields of a set at most."""
BEAM = 5
"""Sets that are made larger."""
FIT_BEST = 3
"""Fields of which a number is fitted."""
GIVEN = ("data.train_rows",)
"""What all programs are given alike."""

Set = tuple[Variation, ...]


@dataclass(slots=True)
class RecordSearch:
    """The search so far. `others`: sets that explain the records as well as the best."""

    court: Court
    protocol: Protocol
    tried: dict[Set, Trial] = field(default_factory=dict)
    others: list[Set] = field(default_factory=list)

    def search(self, claimed: Trial) -> Set:
        """Return the best set that the records show; whether it explains is for `explains`."""
        court, parts = self.court, self.court.failing_parts()
        candidates = [
            change
            for change in self._candidates()
            if change.path not in GIVEN
            and court.parts_of(change) & parts
            and not court.refuted((change,))
        ]
        kept: list[Set] = [()]
        self.tried[()] = claimed
        for size in range(1, LARGEST + 1):
            sets = _extended(kept, candidates)
            for one in sets:
                self._try(one)
            ranked = self._ranked(sets)
            if not ranked:
                break
            if size == 1 and not self.explains(ranked[0]):
                fits = self._fit(ranked, claimed)
                candidates += [one[0] for one in fits]
                ranked = self._ranked([*sets, *fits])
            if self.explains(ranked[0]):
                best = self._smallest(ranked[0])
                self.others = self._as_good(best, ranked)
                return best
            kept = _distinct(ranked)[:BEAM]
        return min(self.tried, key=lambda one: (gap_of_trial(self.tried[one]), len(one)))

    def _candidates(self) -> list[Variation]:
        recipe = self.court.recipe
        found = list(variations(recipe, unfit=True))
        known = {(one.path, str(one)) for one in found}
        more = guesses(recipe, self.court.sightings)
        return found + [one for one in more if (one.path, str(one)) not in known]

    def _try(self, one: Set) -> Trial:
        if one not in self.tried:
            checks = self.court.by_records(one)
            self.tried[one] = self.protocol.note(one, "records", checks)
        return self.tried[one]

    def explains(self, one: Set) -> bool:
        """Whether the records have nothing against a set."""
        return one in self.tried and self.tried[one].closed

    def _ranked(self, sets: Sequence[Set]) -> list[Set]:
        """Return the sets by what they leave open; the value of the headline decides ties."""

        def key(one: Set) -> tuple[Gap, int, float]:
            trial = self.tried[one]
            unfit = sum(not change.fits for change in one)
            return (gap_of_trial(trial), unfit, trial.value or 0.0)

        return sorted(sets, key=key)

    def _fit(self, ranked: Sequence[Set], claimed: Trial) -> list[Set]:
        """Fit the numbers of the best single fields that leave less open than none."""
        found: list[Set] = []
        for one in _distinct(ranked)[:FIT_BEST]:
            axis = AXES.get(one[0].path)
            if axis is None or gap_of_trial(self.tried[one]) >= gap_of_trial(claimed):
                continue
            best = fitted(axis, one[0].value, partial(self._badness, axis.path))
            for value in () if best is None else (*rounder(best), best):
                varied = vary(self.court.recipe, axis.path, value)
                if varied is None:
                    continue
                found.append((varied,))
                if self._try((varied,)).closed:
                    break
        return found

    def _badness(self, path: str, value: float) -> float:
        varied = vary(self.court.recipe, path, value)
        if varied is None:
            return float("inf")
        checks = self.court.by_records((varied,))
        trial = Protocol(self.protocol.headline).note((), "records", checks)
        return trial.excess if trial.failing else -1.0 / (1e-12 + (trial.value or 0.0))

    def _smallest(self, one: Set) -> Set:
        """Leave out what is not needed."""
        for change in one:
            rest = tuple(other for other in one if other is not change)
            if rest and self._try(rest).closed:
                return self._smallest(rest)
        return one

    def _as_good(self, best: Set, ranked: Sequence[Set]) -> list[Set]:
        """Return sets of other fields that explain the records, too, the best for each fields."""
        seen = {frozenset(change.path for change in best)}
        found = []
        for one in ranked:
            paths = frozenset(change.path for change in one)
            if self.explains(one) and len(one) == len(best) and paths not in seen:
                seen.add(paths)
                found.append(one)
        return found


def _extended(kept: Sequence[Set], candidates: Sequence[Variation]) -> list[Set]:
    """Return every kept set with one more field, each set once."""
    found: dict[frozenset[tuple[str, str]], Set] = {}
    for one in kept:
        used = {change.path for change in one}
        for change in candidates:
            if change.path not in used:
                larger = (*one, change)
                found.setdefault(frozenset((c.path, str(c)) for c in larger), larger)
    return list(found.values())


def _distinct(ranked: Sequence[Set]) -> list[Set]:
    """Return the best set of every combination of fields."""
    seen: dict[frozenset[str], Set] = {}
    for one in ranked:
        seen.setdefault(frozenset(change.path for change in one), one)
    return list(seen.values())
