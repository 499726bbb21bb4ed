"""What explains a difference: the result of a bisection, and the court that tries recipes.

Two questions share it. `bisect_recipes`: which of the fields in which two recipes differ makes
their runs differ? `bisect_script`: which recipe does a script follow that does not follow its own?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from crosscast.recipe import Recipe
from crosscast_parity.changes import value_at
from crosscast_parity.checks import Check, json_number
from crosscast_parity.evidence import (
    Bench,
    Gap,
    Judges,
    Part,
    Sighting,
    excess_of,
    gap_of,
    judges_of,
    told_apart_by,
    worst_of,
)
from crosscast_parity.variations import Variation, paths_of, vary

Outcome = Literal["explained", "not explained", "no difference"]
By = Literal["records", "run"]
CHEAP: tuple[Part, ...] = ("counts", "machine", "factors")
Run = Callable[[Recipe], "tuple[Check, ...] | None"]
"""Trains by a recipe and compares with the stored run of the script; None if it cannot be run."""


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


@dataclass(frozen=True, slots=True)
class Court:
    """Holds recorded runs against recipes, and trains anew only where the records say nothing.

    `recipe`: what the script claims to follow; the recipes of the sightings derive from it.
    """

    recipe: Recipe
    sightings: tuple[Sighting, ...]
    bench: Bench = judges_of
    run: Run | None = None
    _judges: list[Judges] = field(default_factory=list)
    _known: dict[tuple[int, Part, str], tuple[Check, ...]] = field(default_factory=dict)

    def by_records(self, changes: Sequence[Variation]) -> tuple[Check, ...]:
        """Return what all checks of the recorded runs say under changed recipes."""
        return self._said([self.translated(one.recipe, changes) for one in self.sightings])

    def held_against(self, recipe: Recipe) -> tuple[Check, ...]:
        """Return what they say under another recipe, from which each run's own is derived anew."""
        return self._said([one.derive(recipe) for one in self.sightings])

    def _said(self, others: Sequence[Recipe]) -> tuple[Check, ...]:
        return tuple(
            check
            for number, part, recipe, _ in self._hearings(others)
            for check in self._judge(number, part, recipe)
        )

    def refuted(self, changes: Sequence[Variation]) -> bool:
        """Whether a cheap check that has nothing against the claimed recipe objects to this one."""
        others = [self.translated(one.recipe, changes) for one in self.sightings]
        return any(
            check.result == "fail"
            for number, part, recipe, changed in self._hearings(others)
            if changed and part in CHEAP and not self._fails(number, part)
            for check in self._judge(number, part, recipe)
        )

    def _hearings(self, others: Sequence[Recipe]) -> Iterator[tuple[int, Part, Recipe, bool]]:
        """Yield every run and judge with the recipe to hold against it, and if it is another."""
        for number, (sighting, other) in enumerate(zip(self.sightings, others, strict=True)):
            apart = told_apart_by(sighting.recipe, other)
            for part in self._of(number):
                yield number, part, other if part in apart else sighting.recipe, part in apart

    def _of(self, number: int) -> Judges:
        if not self._judges:
            self._judges.extend(map(self.bench, self.sightings))
        return self._judges[number]

    def _judge(self, number: int, part: Part, recipe: Recipe) -> tuple[Check, ...]:
        key = (number, part, recipe.model_dump_json())
        if key not in self._known:
            run = self.sightings[number].run
            checks = self._of(number)[part](recipe)
            self._known[key] = tuple(replace(check, run=run) for check in checks)
        return self._known[key]

    def _fails(self, number: int, part: Part) -> bool:
        checks = self._judge(number, part, self.sightings[number].recipe)
        return any(check.result == "fail" for check in checks)

    def translated(self, recipe: Recipe, changes: Sequence[Variation]) -> Recipe:
        """Return a derived recipe with the same changes, as far as it has these fields.

        Numbers that were derived are multiplied alike: a start of the scale that is twice as high.
        """
        main = self.recipe.model_dump()
        for change in changes:
            if change.path not in paths_of(recipe):
                continue
            here, there = value_at(recipe.model_dump(), change.path), value_at(main, change.path)
            value = change.value
            if here != there:
                if not (_number(here) and _number(there) and _number(value) and there):
                    continue
                value = type(here)(here * value / there)
            varied = vary(recipe, change.path, value, unfit=True)
            recipe = varied.recipe if varied else recipe
        return recipe

    def parts_of(self, change: Variation) -> set[Part]:
        """Return the judges that can see a change in any recorded run."""
        return {
            part
            for sighting in self.sightings
            for part in told_apart_by(sighting.recipe, self.translated(sighting.recipe, [change]))
        }

    def failing_parts(self) -> set[Part]:
        """Return the judges that object to the claimed recipe."""
        return {
            part
            for number in range(len(self.sightings))
            for part in self._of(number)
            if self._fails(number, part)
        }


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(slots=True)
class Protocol:
    """The trials so far. `headline` is the check whose value every trial tells."""

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
    """Return the check that a bisection is told about: the worst failing one."""
    return worst_of(checks)


def title(check: Check | None) -> str:
    """Return level and name of a check."""
    return f"{check.level} {check.name}" if check else ""


def from_to(check: Check | None, before: Trial, after: Trial) -> str:
    """Return what a check said before and after, in words."""
    if check is None or before.value is None or after.value is None:
        return f"failing checks {before.failing} -> {after.failing}"
    if not check.limit:
        return f"{title(check)}: windows that differ {before.value:.0f} -> {after.value:.0f}"
    return f"{title(check)} {before.value:.2g} -> {after.value:.2g} (limit {check.limit:g})"


def gap_of_trial(trial: Trial) -> Gap:
    """Return a trial's gap, for sorting; what could not be tried is last."""
    return Gap(10**6, 0.0) if trial.failing is None else Gap(trial.failing, trial.excess)
