"""Capabilities of a target as rows, and the verdicts for a recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Plan
from crosscast.recipe.document import Launch, Recipe, Section
from crosscast.targets.evidence import (
    Evidence as Evidence,
)  # re-exported for modules that define rows


class Verdict(StrEnum):
    """How faithful the emitted code is, best first."""

    EXACT = "exact"
    ADAPTED = "adapted"
    APPROXIMATE = "approximate"
    UNSUPPORTED = "unsupported"


Condition = Callable[[Recipe], bool]
StepCondition = Callable[[Plan], bool]


def always(recipe: Recipe) -> bool:
    """Return True for every recipe."""
    return True


def any_step(plan: Plan) -> bool:
    """Return True for every training step."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How a target implements a recipe field (or all fields below a path).

    `exact`: stock APIs have the same meaning. `adapted`: stock APIs differ, but the emitted code
    has the same meaning. The first row whose path is the longest prefix of a field and whose
    conditions hold decides. A row that is not exact has a code, and a probe: a test that fails when
    the framework changes.
    """

    path: str
    verdict: Verdict = Verdict.EXACT
    how: str
    code: str = ""
    evidence: Evidence = Evidence.MEASURED_CPU
    probe: str = ""
    when: Condition = always
    step: StepCondition = any_step
    """What has to hold for the recipe's training step."""
    adapt: StrEnum | None = None
    """Name of what the row adds to the emitted code; lowering asks for it and decides nothing."""
    dialects: frozenset[str] = frozenset()
    """Names of the dialects to which the row applies; empty for all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict on one field of one recipe."""

    path: str
    value: Any
    row: Row


_SEVERITY = {
    Verdict.ADAPTED: Severity.NOTE,
    Verdict.APPROXIMATE: Severity.WARNING,
    Verdict.UNSUPPORTED: Severity.ERROR,
}

# Fields that identify the recipe and do not affect the training step.
_NEUTRAL_FIELDS = ("version", "name", "overrides")


def leaves(recipe: Recipe) -> Iterator[tuple[str, Any]]:
    """Yield every field of the recipe as (dotted path, value), in the order of the model.

    `launch` affects only how processes are started and is skipped if it has only defaults.
    """
    launched = recipe.launch != Launch()
    for path, value in _leaves("", recipe):
        if launched or not path.startswith("launch."):
            yield path, value


def _leaves(prefix: str, section: Section) -> Iterator[tuple[str, Any]]:
    for name in type(section).model_fields:
        value = getattr(section, name)
        path = f"{prefix}{name}"
        if isinstance(value, Section):
            yield from _leaves(f"{path}.", value)
        elif path not in _NEUTRAL_FIELDS and value is not None:
            yield path, value


def judge(recipe: Recipe, rows: Sequence[Row], plan: Plan | None = None) -> list[Judgement]:
    """Return a judgement for every field; a field without a row is unsupported.

    Args:
        recipe: The recipe.
        rows: The rows of a target.
        plan: The training step, if it is not that of the recipe.
    """
    step = canonical_plan(recipe) if plan is None else plan
    holding: dict[str, Row] = {}
    for row in rows:
        if row.path not in holding and row.step(step) and row.when(recipe):
            holding[row.path] = row
    return [
        Judgement(path=path, value=value, row=_decide(path, holding))
        for path, value in leaves(recipe)
    ]


def _decide(path: str, holding: Mapping[str, Row]) -> Row:
    prefix = path
    while prefix:
        if prefix in holding:
            return holding[prefix]
        prefix = prefix.rpartition(".")[0]
    return Row(path=path, verdict=Verdict.UNSUPPORTED, how="no row says how", code="CC300")


def adaptations(judgements: Sequence[Judgement]) -> frozenset[str]:
    """Return the names of what the picked rows add to the emitted code."""
    return frozenset(each.row.adapt for each in judgements if each.row.adapt is not None)


def diagnose(target: str, judgements: Sequence[Judgement]) -> list[Diagnostic]:
    """Return one diagnostic per row that is not exact, naming all fields it decides."""
    by_row: dict[Row, list[Judgement]] = {}
    for judgement in judgements:
        if judgement.row.verdict is not Verdict.EXACT:
            by_row.setdefault(judgement.row, []).append(judgement)
    return [
        Diagnostic(
            code=row.code,
            severity=_SEVERITY[row.verdict],
            path=group[0].path if len(group) == 1 else row.path,
            message=f"{target}: {row.verdict}: {row.how}",
        )
        for row, group in by_row.items()
    ]
