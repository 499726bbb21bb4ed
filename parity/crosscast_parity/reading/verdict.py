"""The verdict on a reading: what a run says of every field of a lifted recipe."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from crosscast.messages.numbers import shortest
from crosscast.recipe.document import Recipe
from crosscast_parity.bisect.judgement import RecordedRuns
from crosscast_parity.bisect.script_cause import explaining
from crosscast_parity.checks.check import Check, failures
from crosscast_parity.exercise.fields import Exercise, exercise
from crosscast_parity.exercise.rules import rule_for
from crosscast_parity.reading.changes import alike, put, value_of
from crosscast_parity.reading.evidence import Evidence
from crosscast_parity.reading.groups import group_statements
from crosscast_parity.reading.rates import fitting
from crosscast_parity.reading.statements import Statement, statements

Status = Literal["proven", "contradicted", "not exercised"]
SKIPPED = (
    *("version", "name", "schedule.warmup_ratio", "model.preset", "batch.global_batch_size"),
    "precision.policy",
)
"""Fields that say nothing of their own."""
ELSEWHERE = ("launch.", "overrides", "metrics.", "tracking.")
"""Fields that do not say how a step trains."""
TOGETHER = ("schedule.total_steps", "schedule.end_lr")
"""Fields that a run which ends before its schedule shows only together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldReading:
    """What a run says of one field.

    `value`: that of the recipe. `run_value`: the value that fits, of a contradicted field; None if
    none does. `why`: what shows it.
    """

    path: str
    status: Status
    value: Any
    run_value: Any = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the runs of a program say of a recipe."""

    fields: tuple[FieldReading, ...]
    corrected: Recipe
    """The recipe with the values that fit."""
    unexplained: tuple[str, ...] = ()
    """Checks that fail whatever value is tried."""
    notes: tuple[str, ...] = ()

    def of(self, status: Status) -> list[FieldReading]:
        """Return the fields of a status."""
        return [entry for entry in self.fields if entry.status == status]


@dataclass(slots=True)
class _Claim:
    """The recipe on its way to one that fits the runs.

    `free`: fields that no source says. `why`: what shows each value that was changed.
    """

    recipe: Recipe
    free: Collection[str]
    why: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def change(self, values: Mapping[str, Any], why: str) -> bool:
        """Take values over, if they are allowed."""
        values = {path: _as_written(value) for path, value in values.items()}
        other = put(self.recipe, values)
        if other is None:
            return False
        self.recipe = other
        self.why |= dict.fromkeys(values, why)
        return True


def hold(recipe: Recipe, evidence: Evidence, free: Collection[str] = ()) -> Reading:
    """Hold a recipe against the runs of the program that it was read from.

    Args:
        recipe: what was read.
        evidence: the runs.
        free: fields that no source says, whose values are placeholders.
    """
    claim = _Claim(recipe, free)
    claim.recipe = _seen_here(recipe, evidence, claim.notes)
    agreed = _take_statements(claim, evidence)
    unexplained: list[str] = []
    if evidence.optimizers > 1:
        claim.notes.append(f"{evidence.optimizers} optimizers make steps: a recipe has one")
    else:
        unexplained = _fit_rates(claim, evidence) or _search(claim, evidence)
    exercised = {}
    if evidence.optimizers == 1:
        exercises = exercise(claim.recipe, evidence.runs(claim.recipe), evidence.judges())
        exercised = {entry.path: entry for entry in exercises}
    fields = tuple(_fields(recipe, claim, agreed, exercised, unexplained))
    return Reading(
        fields=fields,
        corrected=_restored(recipe, claim),
        unexplained=tuple(unexplained),
        notes=tuple(dict.fromkeys(claim.notes)),
    )


def _seen_here(recipe: Recipe, evidence: Evidence, notes: list[str]) -> Recipe:
    """Return the recipe as far as this machine and this run can show it."""
    shown = recipe
    if recipe.processes > 1:
        notes.append("one process was run: how several share the work was not exercised")
        alone = {
            "distributed.strategy": "none",
            "distributed.nodes": 1,
            "distributed.processes_per_node": 1,
        }
        shown = put(shown, alone) or shown
    if recipe.scaling_on and not evidence.recording.scaled:
        nothing = "no scaler of the framework made a step: loss scaling was not exercised"
        notes.append(evidence.facts.get("unscaled", nothing))
        shown = put(shown, {"loss_scaling.mode": "none"}) or shown
    return shown


def _restored(recipe: Recipe, claim: _Claim) -> Recipe:
    """Return the recipe with the values that fit, and with what could not be seen here."""
    sections = {path.split(".")[0] for path in claim.why}
    data, fits = recipe.model_dump(), claim.recipe.model_dump()
    for section in sections:
        data[section] = fits[section]
    return put(Recipe.model_validate(data), {}) or recipe


def _take_statements(claim: _Claim, evidence: Evidence) -> dict[str, Statement]:
    """Take over what the program tells otherwise; return what it tells alike."""
    agreed: dict[str, Statement] = {}
    for _ in range(2):  # another section brings other fields
        for source in (statements, group_statements):
            for path, statement in source(evidence, claim.recipe).items():
                now = value_of(claim.recipe, path)
                if now is None and path not in _paths(claim.recipe):
                    continue
                if alike(_as_lists(now), _as_lists(statement.value)):
                    if path not in claim.why:
                        agreed[path] = statement
                elif claim.change({path: statement.value}, statement.why):
                    agreed.pop(path, None)
    return agreed


def _as_lists(value: Any) -> Any:
    """Return a value with lists for tuples; of groups what they say."""
    if isinstance(value, tuple | list):
        return [_as_lists(item) for item in value]
    return value


def _as_written(value: Any) -> Any:
    """Return recorded numbers as a person would write them."""
    if isinstance(value, tuple | list):
        return tuple(_as_written(item) for item in value)
    return shortest(value) if isinstance(value, float) else value


def _paths(recipe: Recipe) -> list[str]:
    leaves = _leaves(recipe.model_dump(), "")
    return [path for path in leaves if path not in SKIPPED and not path.startswith(ELSEWHERE)]


def _leaves(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else key)
    else:
        yield path


def _fit_rates(claim: _Claim, evidence: Evidence) -> list[str]:
    """Make the rates those of the run; return the check that fails if no schedule does."""
    run = evidence.runs(claim.recipe, tensors=False)[0]
    rates = [c for c in _machine(claim, evidence) if c.name == "learning rate"]
    if not any(failures(rates)):
        return []
    hints = [
        float(settings["initial_lr"])
        for attempt in evidence.recording.attempts[:1]
        for settings in attempt.settings
        if isinstance(settings.get("initial_lr"), int | float)
    ]
    values = fitting(claim.recipe, run.rows, frozenset(claim.free), hints)
    if values is None:
        return [f"L0b learning rate: {rates[0].wording}"]
    claim.change(values, f"L0b learning rate of {len(run.rows)} updates")
    return []


def _machine(claim: _Claim, evidence: Evidence) -> list[Check]:
    runs = evidence.runs(claim.recipe, tensors=False)
    judged = (evidence.judges()(run)["machine"](claim.recipe) for run in runs)
    return [check for checks in judged for check in checks]


def _search(claim: _Claim, evidence: Evidence) -> list[str]:
    """Search for what the other levels object to; return what no value explains."""
    for tensors in (False, True):
        runs = evidence.runs(claim.recipe, tensors=tensors)
        recorded = RecordedRuns(claim.recipe, runs, judges=evidence.judges())
        failing = list(failures(recorded.by_records(())))
        if not failing:
            continue
        best = explaining(recorded)
        if best is None:
            return [f"{check.level} {check.name}: {check.wording}" for check in failing]
        for change in best:
            claim.change(change.changes, f"{failing[0].level} {failing[0].name}")
    return []


def _fields(
    recipe: Recipe,
    claim: _Claim,
    agreed: Mapping[str, Statement],
    exercised: Mapping[str, Exercise],
    unexplained: Sequence[str],
) -> Iterator[FieldReading]:
    whole = {path: path.removesuffix(".0").removesuffix(".1") for path in claim.why}
    changed = {whole[path]: why for path, why in claim.why.items()}
    length, end = TOGETHER
    together = length in changed and end in claim.free and end not in changed
    for path in dict.fromkeys((*_paths(recipe), *changed)):
        value, fits = value_of(recipe, path), value_of(claim.recipe, path)
        if path in SKIPPED:
            continue
        if path in changed and not alike(_as_lists(value), _as_lists(fits)):
            yield FieldReading(
                path=path, status="contradicted", value=value, run_value=fits, why=changed[path]
            )
        elif fits is None and value is not None:
            why = "no scaler of the framework made a step"
            yield FieldReading(path=path, status="not exercised", value=value, why=why)
        elif not alike(_as_lists(value), _as_lists(fits)):
            why = "the run did not show it: see the notes"
            yield FieldReading(path=path, status="not exercised", value=value, why=why)
        elif path == end and together:
            why = f"the rates are those of {length} {value_of(claim.recipe, length)} with this end"
            yield FieldReading(path=path, status="not exercised", value=value, why=why)
        else:
            entries = [e for p, e in exercised.items() if p == path or p.startswith(f"{path}.")]
            status, why = _judged(path, entries, agreed.get(path), unexplained)
            yield FieldReading(path=path, status=status, value=value, why=why)


def _judged(
    path: str, entries: Sequence[Exercise], statement: Statement | None, unexplained: Sequence[str]
) -> tuple[Status, str]:
    by_runs = [entry for entry in entries if rule_for(entry.path) is None]
    if by_runs and all(entry.status == "exercised" for entry in by_runs) and not unexplained:
        return "proven", by_runs[0].wording
    if statement is not None:
        return "proven", statement.why
    if entries and not by_runs:
        return "not exercised", "it takes another program to see it"
    if unexplained:
        return "not exercised", "the run differs from the recipe, and no value was found that fits"
    return "not exercised", by_runs[-1].wording if by_runs else "it has no effect here"
