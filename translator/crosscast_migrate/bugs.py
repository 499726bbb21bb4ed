"""Mistakes of a source in a migration: corrected, or kept if a recipe can express them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity, Span
from crosscast.recipe.document import Recipe
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import parse
from crosscast_migrate.bug_table import BUGS, Bug, Values
from crosscast_reading.lift.annotated_yaml import recipe_yaml, scalar
from crosscast_reading.lift.recipe_draft import Filled
from crosscast_reading.lint.result import Result

Became = Literal["changed on purpose", "kept", "cannot be kept", "as it runs", "of no recipe"]
"""Corrected; kept on request; corrected although it should have been kept; ambiguous, so the recipe
describes what runs; unrelated to recipe fields."""

_SCALE = re.compile(r"loss_?scal|init_scale", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """The treatment of one finding."""

    rule: str
    name: str
    message: str
    span: Span | None
    path: str
    became: Became
    instead: str
    changes: Values


def fates_of(
    fields: Mapping[str, Filled], findings: Sequence[Result], *, keep: bool
) -> tuple[dict[str, Filled], tuple[Fate, ...]]:
    """Return the fields after all findings were corrected or kept, and the fate of each finding.

    A note of lint is not a mistake, so the values of the recipe stay.

    Args:
        fields: values of the recipe with their origins.
        findings: lint's findings in the same sources.
        keep: whether mistakes are kept if a recipe can express them.
    """
    current = dict(fields)
    fates = []
    for finding in findings:
        bug = BUGS.get(finding.code)
        if bug is None:
            continue
        became, changes = _decide(current, finding, bug, keep)
        note = f"{finding.code} {finding.name}: {became}"
        current = changed(current, changes, note)
        if bug.sums and bug.path in current and became in ("changed on purpose", "kept"):
            # A sum is a mean now, whatever its rate: nothing of its division is open.
            current[bug.path] = replace(current[bug.path], how="derived", note=note)
        instead = bug.instead
        if became == "kept":
            values = ", ".join(f"{path}: {scalar_of(value)}" for path, value in changes.items())
            instead = (
                f"the recipe keeps it ({values})" if values else "the recipe describes what runs"
            )
        fates.append(
            Fate(
                rule=finding.code,
                name=finding.name,
                message=finding.message,
                span=finding.span,
                path=bug.path,
                became=became,
                instead=instead,
                changes=changes,
            )
        )
    return current, tuple(fates)


def _decide(
    fields: Mapping[str, Filled], finding: Result, bug: Bug, keep: bool
) -> tuple[Became, Values]:
    if not bug.path:
        return ("as it runs" if bug.by_user else "of no recipe"), {}
    if bug.by_user:
        return "as it runs", {}
    if finding.severity is Severity.NOTE and not bug.sums:
        return "kept", {}
    if bug.scaled and (unscaled := _unscaled(fields, bug.scaled)):
        return ("kept", {}) if keep else ("changed on purpose", unscaled)
    if not keep:
        return "changed on purpose", bug.correct if _expresses(fields, bug) else {}
    wanted = _sum(fields, bug.sums) if bug.sums else bug.keep
    if wanted and recipe_of(changed(fields, wanted, "")) is not None:
        return "kept", wanted
    return "cannot be kept", bug.correct if not bug.keep else {}


def _unscaled(fields: Mapping[str, Filled], path: str) -> Values:
    """Return the limit without the loss scale that its expression names; empty if not known."""
    limit, scale = fields.get(path), fields.get("loss_scaling.scale")
    if limit is None or scale is None or not _SCALE.search(limit.note):
        return {}
    if limit.how == "assumed" or scale.how == "assumed" or not limit.value or not scale.value:
        return {}
    return {path: limit.value / scale.value}


def _expresses(fields: Mapping[str, Filled], bug: Bug) -> bool:
    """Whether the source's recipe expresses the mistake, or lacks a value for the correction."""
    open_ = fields[bug.path].how == "assumed" if bug.path in fields else False
    return open_ or all(_value(fields, path) == want for path, want in bug.keep.items())


def _value(fields: Mapping[str, Filled], path: str) -> Any:
    """Return a value of a recipe, a whole section as a dictionary."""
    if path in fields:
        return fields[path].value
    prefix = f"{path}."
    return {
        name.removeprefix(prefix): filled.value
        for name, filled in fields.items()
        if name.startswith(prefix)
    }


def _sum(fields: Mapping[str, Filled], power: int) -> Values:
    """Return the rate at which a mean acts like the source's sum; empty if there is none.

    There is one only if the update is linear in the gradient: SGD without decay and clipping.
    """
    steps, rate = _value(fields, "accumulation.steps"), _value(fields, "optimizer.learning_rate")
    linear = (
        _value(fields, "optimizer.name") == "sgd"
        and _is_zero(fields.get("optimizer.weight_decay"))
        and _value(fields, "clipping.kind") == "none"
    )
    if not linear or not isinstance(rate, float) or not isinstance(steps, int):
        return {}
    return {"optimizer.learning_rate": rate * float(steps) ** power}


def _is_zero(decay: Filled | None) -> bool:
    return decay is None or (decay.how != "assumed" and not decay.value)


def changed(fields: Mapping[str, Filled], changes: Values, note: str) -> dict[str, Filled]:
    """Return fields with values replaced; a mapping replaces a whole section."""
    result = dict(fields)
    for path, value in changes.items():
        if isinstance(value, Mapping):
            for name in [field for field in result if field.startswith(f"{path}.")]:
                del result[name]
            parts = {f"{path}.{name}": part for name, part in value.items()}
        else:
            parts = {path: value}
        for name, part in parts.items():
            before = fields.get(name)
            places = before.places if before else ()
            result[name] = Filled(value=part, how="derived", places=places, note=note)
    return result


def scalar_of(value: Any) -> str:
    """Return a value of a recipe as text, a section in braces."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {scalar(part)}' for name, part in value.items())}}}"
    return scalar(value)


def recipe_of(fields: Mapping[str, Filled]) -> Recipe | None:
    """Return the recipe of fields, or None if they are no valid recipe."""
    try:
        return build_recipe(parse(recipe_yaml(fields, ()), "recipe.yaml"))
    except DiagnosticError:
        return None


def diagnostics_of(fates: Sequence[Fate]) -> list[Diagnostic]:
    """Return a diagnostic for every mistake that was changed, or could not be kept."""
    diagnostics = []
    for fate in fates:
        if fate.became == "cannot be kept":
            message = (
                f"{fate.rule}: {fate.message}; a recipe cannot express this, so now {fate.instead}"
            )
            diagnostics.append(_diagnostic("CC974", Severity.WARNING, message, fate))
        elif fate.became == "as it runs":
            message = f"{fate.rule}: {fate.message}; {fate.instead}"
            diagnostics.append(_diagnostic("CC975", Severity.WARNING, message, fate))
        elif fate.became == "changed on purpose":
            message = f"{fate.rule}: {fate.message}; now {fate.instead}"
            diagnostics.append(_diagnostic("CC973", Severity.NOTE, message, fate))
    return diagnostics


def _diagnostic(code: str, severity: Severity, message: str, fate: Fate) -> Diagnostic:
    return Diagnostic(code=code, severity=severity, message=message, path=fate.path, span=fate.span)
