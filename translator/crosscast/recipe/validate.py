"""Build a Recipe from parsed YAML and report all problems with locations and suggestions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from crosscast.messages.diagnostics import Collector, Diagnostic
from crosscast.recipe import rules
from crosscast.recipe.derive import derive
from crosscast.recipe.document import VERSION, Recipe
from crosscast.recipe.suggestions import suggest_field
from crosscast.recipe.validation_errors import field_path, lookup, translate
from crosscast.recipe.versions import OLDEST, problems_of_version_1, upgraded
from crosscast.recipe.yaml_source import PathKey, YamlDocument, free_keys

# Fields that `crosscast.recipe.derive` fills in, and the sections it looks at.
_BATCH = frozenset({"batch", "accumulation", "distributed"})
_DERIVED_FROM = {
    "micro_batch_size": _BATCH,
    "global_batch_size": _BATCH,
    "steps": _BATCH,
    "layers": frozenset({"model"}),
    "hidden_size": frozenset({"model"}),
    "attention_heads": frozenset({"model"}),
    "intermediate_size": frozenset({"model"}),
}
_DERIVED_HINTS = {
    "model": "set model.preset (tiny, mini, small, base, large) or all four sizes",
    "batch": "set micro_batch_size, or global_batch_size and accumulation.steps",
}


def build_recipe(document: YamlDocument) -> Recipe:
    """Validate a document.

    Raises:
        DiagnosticError: CC101-CC105 for single fields, otherwise CC2xx for contradictions.
    """
    collect = Collector()
    if not isinstance(document.data, Mapping):
        collect.add(_place(document, (), "CC103", "a recipe must be a mapping of fields"))
        collect.raise_errors()
    _check_version(document, collect)
    derived = Collector()
    written = _without_free_keys(document.data)
    if written.get("version") == OLDEST:
        for problem in problems_of_version_1(written):
            collect.add(_place(document, problem.path, problem.code, problem.message, problem.hint))
        written = upgraded(written)
    data = derive(written, derived)
    for diagnostic in derived.diagnostics:
        collect.add(locate(document, diagnostic))
    recipe: Recipe | None = None
    try:
        recipe = Recipe.model_validate(data)
    except ValidationError as error:
        details = [d for d in error.errors(include_url=False) if d["loc"] != ("version",)]
        for detail in _without_consequences(details, document.data):
            translated = translate(document, data, detail)
            hint = _DERIVED_HINTS.get(str(detail["loc"][0]), "") if _derivable(detail) else ""
            collect.add(replace(translated, hint=hint) if hint else translated)
    if recipe is not None:
        for diagnostic in rules.check(recipe):
            collect.add(locate(document, diagnostic))
    collect.raise_errors()
    assert recipe is not None  # a failed validation has raised above
    return recipe


def _without_consequences(details: list[ErrorDetails], data: Any) -> list[ErrorDetails]:
    """Drop missing fields that exist under another name, or would have been derived.

    Without other errors in the section of derived fields, the fields they derive from are missing;
    then a report of the first one is sufficient.
    """
    unknown = (field_path(d) for d in details if d["type"] == "extra_forbidden")
    suggested = {suggest_field(path, data, lookup(data, path)) for path in unknown}
    details = [
        d for d in details if d["type"] != "missing" or _dotted(field_path(d)) not in suggested
    ]
    kept: list[ErrorDetails] = []
    derived: dict[str, ErrorDetails] = {}
    broken = {d["loc"][0] for d in details if not _derivable(d)}
    for detail in details:
        if not _derivable(detail):
            kept.append(detail)
            continue
        section = _DERIVED_FROM[str(detail["loc"][-1])]
        if not broken & section:
            derived.setdefault(min(section), detail)
    return [*kept, *derived.values()]


def _dotted(path: PathKey) -> str:
    return ".".join(map(str, path))


def _derivable(detail: ErrorDetails) -> bool:
    return detail["type"] == "missing" and detail["loc"][-1] in _DERIVED_FROM


def _without_free_keys(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {key: _without_free_keys(value) for key, value in free_keys(data).items()}
    return tuple(map(_without_free_keys, data)) if isinstance(data, tuple) else data


def _check_version(document: YamlDocument, collect: Collector) -> None:
    version = document.data.get("version")
    if version is None:
        hint = f"add the line `version: {VERSION}`"
        collect.add(_place(document, ("version",), "CC102", "missing", hint))
    elif type(version) is not int or not OLDEST <= version <= VERSION:
        newer = type(version) is int and version > VERSION
        hint = "update crosscast to read this recipe" if newer else f"write `version: {VERSION}`"
        message = f"this crosscast reads recipe versions {OLDEST} and {VERSION}"
        collect.add(_place(document, ("version",), "CC105", message, hint))


def _place(
    document: YamlDocument, path: PathKey, code: str, message: str, hint: str = ""
) -> Diagnostic:
    return Diagnostic(
        code=code,
        message=message,
        path=".".join(map(str, path)),
        span=document.span(path),
        hint=hint,
    )


def locate(document: YamlDocument, diagnostic: Diagnostic) -> Diagnostic:
    """Add the location in the file to a diagnostic that has only a path."""
    path = tuple(diagnostic.path.split(".")) if diagnostic.path else ()
    of_key = isinstance(lookup(document.data, path), Mapping) or path[:1] == ("overrides",)
    return replace(diagnostic, span=document.span(path, of_key=of_key))
