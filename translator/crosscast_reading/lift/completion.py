"""Make a valid recipe of a draft in which every value says where it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity
from crosscast.recipe.document import Recipe
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import parse
from crosscast_reading.lift.annotated_yaml import recipe_yaml, scalar
from crosscast_reading.lift.effective_fields import meaning
from crosscast_reading.lift.flat_recipe import flat
from crosscast_reading.lift.recipe_draft import Draft, Filled

_NO_VALUES = (
    *("version", "name", "launch.", "overrides.", "data.workers", "activation_checkpointing"),
    *("loss.target", "precision.param_dtype", "precision.ops.", "precision.policy"),
    "data.pad_values",
    *("model.preset", "schedule.warmup_ratio", "batch.global_batch_size"),
    *("model.factory.", "loss.function.", "data.pad_to_multiple_of"),
)
"""Fields that change no number of the training, name the user's own code and arrays, are derived
from others, or have one value only."""
_TAGS = ("mode", "kind", "name", "source")
"""Fields that decide what the others of their section mean; a mark on one covers the section."""
_MOST = 3


def completed(draft: Draft, sources: Sequence[str]) -> tuple[Recipe | None, list[Diagnostic]]:
    """Return the recipe of a draft, or why there is none; fill in what no section has filled.

    A value that no recipe can have gives way to the recipe's default, marked, with a warning. There
    is no recipe only if a field without a default is wrong.
    """
    fields_before = dict(draft.fields)
    problems: dict[str, Diagnostic] = {}
    for _ in range(_MOST):
        try:
            recipe = build_recipe(parse(recipe_yaml(draft.fields, sources), "recipe.yaml"))
        except DiagnosticError as error:
            explained = [_explained(diagnostic, draft) for diagnostic in error.diagnostics]
            if any(p.path not in draft.fields or p.path in problems for p in explained):
                draft.fields = fields_before
                return None, [*problems.values(), *(p for p in explained if p.path not in problems)]
            for problem in explained:
                problems[problem.path] = problem
                _drop(problem.path, draft)
            continue
        _fill_in(recipe, draft, fields_before, problems)
        return recipe, [replace(p, severity=Severity.WARNING) for p in problems.values()]
    draft.fields = fields_before
    return None, list(problems.values())


def _drop(path: str, draft: Draft) -> None:
    """Leave a field, or with its kind a whole section, to the defaults of recipes."""
    section, _, last = path.partition(".")
    if last in _TAGS:
        draft.without(f"{section}.")
    else:
        del draft.fields[path]


def _explained(diagnostic: Diagnostic, draft: Draft) -> Diagnostic:
    """Return a problem of a recipe as one of the field that a source fills."""
    path = diagnostic.path
    while path not in draft.fields and "." in path:
        path = path.rpartition(".")[0]  # an item of a list
    path = path if path in draft.fields else diagnostic.path
    filled = draft.fields.get(path)
    place = filled.places[0] if filled and filled.places else None
    return Diagnostic(
        code="CC914",
        message=f"{diagnostic.message} ({diagnostic.code})",
        path=path,
        span=place,
        hint=diagnostic.hint,
        severity=Severity.ERROR,
    )


def _fill_in(
    recipe: Recipe,
    draft: Draft,
    fields_before: Mapping[str, Filled],
    problems: Mapping[str, Diagnostic],
) -> None:
    """Mark the values that gave way to defaults, and those that nothing in the draft speaks of."""
    values = flat(recipe)
    draft.direct = frozenset()  # whoever said it, what is not possible gives way
    for path, problem in problems.items():
        shown = f"{scalar(fields_before[path].value)} is not possible: {problem.message}"
        draft.assume(path, values.get(path), shown, places=fields_before[path].places)
    for path in _open_fields(values, draft):
        draft.assume(path, values[path], "not read")


def _open_fields(values: Mapping[str, Any], draft: Draft) -> list[str]:
    """Return the fields of a recipe with an effect that nothing in the draft speaks of."""
    effective = meaning(values)
    assumed = {
        path.partition(".")[0]
        for path in draft.fields
        if path.partition(".")[2] in _TAGS and draft.is_assumed(path)
    }
    return [
        path
        for path in values
        if path in effective
        and path not in draft.fields
        and path.partition(".")[0] not in assumed
        and path not in _NO_VALUES
        and not (path == "schedule.warmup_steps" and "schedule.warmup_ratio" in draft.fields)
        and not path.startswith(tuple(name for name in _NO_VALUES if name.endswith(".")))
        and not any(filled.startswith(f"{path}.") for filled in draft.fields)
    ]
