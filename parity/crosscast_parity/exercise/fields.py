"""Which fields of a recipe the runs of a comparison exercised, and which they did not.

A field is exercised if the recorded runs tell its value from another one: under a recipe with the
other value, a check that passes would fail. For a number that must hold for a smaller and for a
larger value, where they exist, and else for every alternative that means something else. It is
computed: the checks that need no second program (counts, loss-scale machine, replay, types, the
tensors of the toy) are applied to the same records under every variation of the field, until one
fails. For fields that show only in a comparison with another program, `rules` says what was
compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Literal

from crosscast.recipe.document import Recipe
from crosscast.variations.changes import value_at
from crosscast.variations.table import (
    TABLE,
    Variation,
    has_path,
    shown,
    shown_path,
    variations,
)
from crosscast_parity.checks.check import Check, windows
from crosscast_parity.evidence.recorded_run import (
    Judge,
    JudgeFactory,
    Judges,
    Part,
    RecordedRun,
    distinguishing_parts,
    judges_of,
)
from crosscast_parity.exercise.meaning import meaning
from crosscast_parity.exercise.rules import EXPLANATIONS, absent, rule_for
from crosscast_parity.levels.row_weights import NORM_LIMIT, weight_change
from crosscast_parity.toy.causes import OF_THE_TOY

Status = Literal["exercised", "not exercised", "not used"]

NAMES = ("version", "name", "model.preset", "precision.policy", "schedule.warmup_ratio")
"""Fields without a meaning of their own for training."""
OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """What the runs say about one field.

    `wording` follows the status after a colon: "exercised: L1b update of float32-initial ...".
    `value` and `limit` are those of the check that would have failed.
    """

    path: str
    status: Status
    wording: str
    level: str = ""
    run: str = ""
    value: float | None = None
    limit: float | None = None

    def __str__(self) -> str:
        return f"{shown_path(self.path)}: {self.status}: {self.wording}"


def exercise(
    recipe: Recipe, runs: Sequence[RecordedRun], judges: JudgeFactory = judges_of
) -> tuple[Exercise, ...]:
    """Return for every field of a recipe whether the runs exercised it.

    Args:
        recipe: The recipe of the comparison.
        runs: Runs of one program that passes its own checks, the reference for example. Each
            has its own recipe, derived from `recipe`: in float32, or with another loss scale.
        judges: Returns the judges of a run.
    """
    board = _Board(tuple(runs), tuple(map(judges, runs)))
    return tuple(_exercise_field(recipe, path, board) for path in fields_of(recipe))


def fields_of(recipe: Recipe) -> list[str]:
    """Return every field of a recipe that can mean something; items of pairs by themselves."""
    known = [path for path, _ in TABLE]
    return [p for p in _leaves(recipe.model_dump(), "", known) if _counts(p)]


def _counts(path: str) -> bool:
    return path not in NAMES and not path.startswith(("launch.", "tracking."))


def _leaves(value: Any, path: str, known: Sequence[str]) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else key, known)
    elif isinstance(value, tuple) and f"{path}.0" in known and value:
        yield from (f"{path}.{number}" for number in range(len(value)))
    else:
        yield path


@dataclass(frozen=True, slots=True)
class _Board:
    """The records, with the checks under the recipe that each run claims."""

    runs: tuple[RecordedRun, ...]
    judges: tuple[Judges, ...]
    _passing: dict[tuple[int, Part], set[tuple[str, str]]] = field(default_factory=dict)

    def differences(self, number: int, other: Recipe, parts: Sequence[Part]) -> list[Check]:
        """Return the checks of a run that pass under its recipe and would not under another."""
        for part in parts:
            judge = self.judges[number].get(part)
            if judge is None:
                continue
            passing = self._pass(number, part, judge)
            failing = [
                check
                for check in judge(other)
                if check.result == "fail" and (check.level, check.name) in passing
            ]
            if failing:
                return failing
        return []

    def _pass(self, number: int, part: Part, judge: Judge) -> set[tuple[str, str]]:
        if (number, part) not in self._passing:
            checks = judge(self.runs[number].recipe)
            self._passing[number, part] = {(c.level, c.name) for c in checks if c.result == "pass"}
        return self._passing[number, part]


def _exercise_field(recipe: Recipe, path: str, board: _Board) -> Exercise:
    nothing = absent(recipe, path)
    if nothing:
        return Exercise(path=path, status="not used", wording=nothing)
    rule = rule_for(path)
    if rule is not None:
        level, wording = rule.judge(recipe, board.runs)
        status: Status = "exercised" if level else "not exercised"
        return Exercise(path=path, status=status, wording=wording, level=level)
    value = value_at(recipe.model_dump(), path)
    if not has_path(recipe, path) or next(variations(recipe, path, unfit=True), None) is None:
        words = "it has no meaning with the values of other fields"
        return Exercise(path=path, status="not used", wording=words)
    return _by_variation(recipe, path, value, board)


def _by_variation(recipe: Recipe, path: str, value: Any, board: _Board) -> Exercise:
    tried: dict[str, list[Variation]] = {}
    seen: dict[str, Exercise] = {}
    for number, recorded_run in enumerate(board.runs):
        if not _has_value(recorded_run, path, value):
            continue
        for variation in variations(recorded_run.recipe, path, unfit=True):
            if "loss_scaling" in variation.also and path.startswith("precision."):
                continue  # the scale would tell them apart, not the precision
            side = _side(recorded_run.recipe, variation)
            values = tried.setdefault(side, [])
            if not any(variation.value == candidate.value for candidate in values):
                values.append(variation)
            if side not in seen and (seen_by := _exercise_of(number, variation, board)):
                seen[side] = seen_by
        if seen and seen.keys() >= _wanted(tried):
            return next(iter(seen.values()))
    if path == "schedule.total_steps" and any(_reaches_end(seen) for seen in board.runs):
        words = "a run makes that many windows, which are counted"
        return Exercise(path=path, status="exercised", wording=words, level="L0a")
    because = EXPLANATIONS.get(path, "")
    unseen = [
        candidate
        for side, values in tried.items()
        if side in _wanted(tried) - seen.keys()
        for candidate in values
    ]
    shown_values = " and ".join(shown(candidate.value) for candidate in unseen[:3])
    wording = f"because {because}; " if because else ""
    wording += f"all checks pass with {shown_values}, too" if tried else "no run has this field"
    return Exercise(path=path, status="not exercised", wording=wording)


def _side(recipe: Recipe, variation: Variation) -> str:
    """Return on which side of its field's value a variation lies.

    An alternative that means something else is a side of its own. `OTHER` is one that does not, or
    that leaves a number out altogether.
    """
    value, other = value_at(recipe.model_dump(), variation.path), variation.value
    if _is_number(value) and _is_number(other):
        return "below" if other < value else "above"
    if _is_number(value) or meaning(recipe) == meaning(variation.recipe):
        return OTHER
    return shown(other)


def _wanted(tried: Mapping[str, object]) -> Set[str]:
    """Return the sides that must be seen: `OTHER` only where there are none."""
    return tried.keys() - {OTHER} or tried.keys()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _has_value(recorded_run: RecordedRun, path: str, value: Any) -> bool:
    """Whether a run's recipe has the field and says the same; numbers of a scale may be others.

    Not on the toy, whose recipes have values that show most.
    """
    recipe, on_toy = recorded_run.recipe, recorded_run.toy is not None
    if not has_path(recipe, path) or (on_toy and path.startswith(OF_THE_TOY)):
        return False
    free = path.startswith("loss_scaling.") and not isinstance(value, str) and not on_toy
    return free or bool(value_at(recipe.model_dump(), path) == value)


def _exercise_of(number: int, variation: Variation, board: _Board) -> Exercise | None:
    recorded_run = board.runs[number]
    parts = distinguishing_parts(recorded_run.recipe, variation.recipe)
    if variation.path == "accumulation.normalize_by" and recorded_run.toy is None:
        parts = ()  # two ways to write the same mean have other factors, but the same gradient
    failing = board.differences(number, variation.recipe, parts)
    if failing:
        check = failing[0]
        words = (
            f"{check.level} {check.name} of {recorded_run.run}: {shown(variation.value)} instead"
        )
        return Exercise(
            path=variation.path,
            status="exercised",
            wording=f"{words} would {_by_how_much(check)}",
            level=check.level,
            run=recorded_run.run,
            value=check.value,
            limit=check.limit,
        )
    return _by_weights(recorded_run, variation)


def _by_how_much(check: Check) -> str:
    if check.value is None or check.limit is None or check.value <= check.limit:
        return f"fail: {check.wording}"
    if not check.limit:
        return f"differ in {windows(int(check.value))}"
    return f"be off by {check.value:.2g} (limit {check.limit:g})"


def _by_weights(recorded_run: RecordedRun, variation: Variation) -> Exercise | None:
    """The divisor of the loss shows in the gradient norm, which is compared with the reference."""
    change = weight_change(recorded_run.recipe, variation.recipe, recorded_run.rows)
    if not recorded_run.compared or not change > NORM_LIMIT:
        return None
    words = f"L0c gradient norm of {recorded_run.run}: {shown(variation.value)} instead would weigh"
    return Exercise(
        path=variation.path,
        status="exercised",
        wording=f"{words} rows otherwise by {change:.2g} (limit {NORM_LIMIT:g})",
        level="L0c",
        run=recorded_run.run,
        value=change,
        limit=NORM_LIMIT,
    )


def _reaches_end(recorded_run: RecordedRun) -> bool:
    return len(recorded_run.rows) == recorded_run.recipe.schedule.total_steps
