"""Compare recorded runs with recipes, computing every check once per run and recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from crosscast.recipe.document import Recipe
from crosscast.variations.changes import value_at
from crosscast.variations.table import Variation, has_path, vary
from crosscast_parity.checks.check import Check
from crosscast_parity.evidence.recorded_run import (
    Gap,
    JudgeFactory,
    Judges,
    Part,
    RecordedRun,
    distinguishing_parts,
    gap_of,
    judges_of,
)

CHEAP: tuple[Part, ...] = ("counts", "machine", "factors")
Run = Callable[[Recipe], "tuple[Check, ...] | None"]
"""Train by a recipe and compare with the stored run of the script; None if it cannot be run."""


@dataclass(frozen=True, slots=True)
class RecordedRuns:
    """Compare recorded runs with recipes; train again only where the records are not enough.

    `recipe`: what the script claims to follow; the recipes of the runs derive from it.
    """

    recipe: Recipe
    runs: tuple[RecordedRun, ...]
    judges: JudgeFactory = judges_of
    run: Run | None = None
    _judges: list[Judges] = field(default_factory=list)
    _known: dict[tuple[int, Part, str], tuple[Check, ...]] = field(default_factory=dict)
    _translated: dict[tuple[Variation, ...], list[list[Recipe]]] = field(default_factory=dict)

    def by_records(self, changes: Sequence[Variation]) -> tuple[Check, ...]:
        """Return all checks of the recorded runs under changed recipes."""
        checks: list[Check] = []
        for number, others in enumerate(self._translations(changes)):
            alternatives = (tuple(self._checks(number, other)) for other in others)
            checks += min(alternatives, key=gap_of)
        return tuple(checks)

    def compared_with(self, recipe: Recipe) -> tuple[Check, ...]:
        """Return the checks under another recipe, from which the recipe of each run is derived.

        Runs whose recipe was derived in an unknown way have no checks.
        """
        return tuple(
            check
            for number, recorded_run in enumerate(self.runs)
            if recorded_run.derive(self.recipe) == recorded_run.recipe
            for check in self._checks(number, recorded_run.derive(recipe))
        )

    def estimated_gap(self, changes: Sequence[Variation]) -> Gap:
        """Return the distance of the runs from changed recipes, by the cheap checks alone."""
        return gap_of(
            check
            for number, others in enumerate(self._translations(changes))
            for check in min(
                (tuple(self._checks(number, other, CHEAP)) for other in others), key=gap_of
            )
        )

    def _translations(self, changes: Sequence[Variation]) -> Iterator[list[Recipe]]:
        """Yield for every run what its recipe may be with the changes."""
        key = tuple(changes)
        if key not in self._translated:
            self._translated[key] = [
                self._derived_recipes(recorded_run.recipe, key) for recorded_run in self.runs
            ]
        yield from self._translated[key]

    def _derived_recipes(self, recipe: Recipe, changes: Sequence[Variation]) -> list[Recipe]:
        scaled, derived = self._translated_by(recipe, changes, scaled=True)
        if not derived:
            return [scaled]
        as_is, _ = self._translated_by(recipe, changes, scaled=False)
        return [scaled] if scaled == as_is else [scaled, as_is]

    def _checks(
        self, number: int, other: Recipe, only: Sequence[Part] | None = None
    ) -> Iterator[Check]:
        own = self.runs[number].recipe
        apart = distinguishing_parts(own, other)
        for part in self._judges_of(number):
            if only is not None and part not in only:
                continue
            yield from self._judge(number, part, other if part in apart else own)
            if part in apart:
                yield from self._unanswered(number, part, own, other)

    def _unanswered(self, number: int, part: Part, own: Recipe, other: Recipe) -> Iterator[Check]:
        """Yield the checks that fail under the claimed recipe and are not judged under another one.

        Rows say nothing of labels, so the factor of the loss is not known if it is divided by
        them. What cannot be judged is not explained.
        """
        answered = {
            (check.level, check.name)
            for check in self._judge(number, part, other)
            if check.result != "not tested"
        }
        for check in self._judge(number, part, own):
            if check.result == "fail" and (check.level, check.name) not in answered:
                yield check

    def _judges_of(self, number: int) -> Judges:
        if not self._judges:
            self._judges.extend(map(self.judges, self.runs))
        return self._judges[number]

    def _judge(self, number: int, part: Part, recipe: Recipe) -> tuple[Check, ...]:
        key = (number, part, recipe.model_dump_json())
        if key not in self._known:
            run = self.runs[number].run
            checks = self._judges_of(number)[part](recipe)
            self._known[key] = tuple(replace(check, run=run) for check in checks)
        return self._known[key]

    def _fails(self, number: int, part: Part) -> bool:
        checks = self._judge(number, part, self.runs[number].recipe)
        return any(check.result == "fail" for check in checks)

    def translated(self, recipe: Recipe, changes: Sequence[Variation]) -> Recipe:
        """Return a derived recipe with the same changes, as far as it has these fields.

        Numbers that were derived are multiplied alike, as where a script doubles the first scale.
        """
        return self._translated_by(recipe, changes, scaled=True)[0]

    def _translated_by(
        self, recipe: Recipe, changes: Sequence[Variation], *, scaled: bool
    ) -> tuple[Recipe, bool]:
        """Return the derived recipe, and whether one of its changed values was derived.

        Without `scaled` derived numbers stay, as where it was derived from a recipe with another
        number.
        """
        main, derived = self.recipe.model_dump(), False
        for change in changes:
            if not has_path(recipe, change.path):
                continue
            mine, other = (value_at(recipe.model_dump(), change.path), value_at(main, change.path))
            value = change.value
            if mine != other:
                derived = True
                numbers = _number(mine) and _number(other) and _number(value)
                if not (scaled and numbers and other):
                    continue
                value = type(mine)(mine * value / other)
            varied = vary(recipe, change.path, value, unfit=True)
            recipe = varied.recipe if varied else recipe
        return recipe, derived

    def parts_of(self, change: Variation) -> set[Part]:
        """Return the judges that can see a change in any recorded run."""
        return {
            part
            for recorded_run, others in zip(self.runs, self._translations((change,)), strict=True)
            for other in others
            for part in distinguishing_parts(recorded_run.recipe, other)
        }

    def failing_parts(self) -> set[Part]:
        """Return the judges that object to the claimed recipe."""
        return {
            part
            for number in range(len(self.runs))
            for part in self._judges_of(number)
            if self._fails(number, part)
        }


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
