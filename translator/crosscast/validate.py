"""Turn parsed YAML into a Recipe, reporting every problem with its place and a suggestion."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from crosscast import rules
from crosscast.derive import derive
from crosscast.diagnostics import Collector, Diagnostic
from crosscast.recipe import VERSION, Recipe
from crosscast.schema import field_names
from crosscast.yaml_source import PathKey, YamlDocument, free_keys

# Words of other tools that are understood in suggestions and never stored.
_SYNONYMS = {
    "fp16": "float16",
    "half": "float16",
    "16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "lr": "learning_rate",
    "wd": "weight_decay",
    "gradient_accumulation_steps": "steps",
    "accumulate_grad_batches": "steps",
    "max_grad_norm": "max_norm",
    "adam_epsilon": "eps",
    "epsilon": "eps",
    "mixed_precision": "precision",
    "scheduler": "schedule",
    "loss_scale": "loss_scaling",
    "grad_clip": "clipping",
    "clip": "clipping",
    "max_steps": "total_steps",
    "batch_size": "micro_batch_size",
}

# Fields that `crosscast.derive` fills in, and the sections it looks at.
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
    "model": "give model.preset (tiny, mini, small, base) or all four sizes",
    "batch": "give micro_batch_size, or global_batch_size with accumulation.steps",
}


_UNIONS = frozenset(
    name for name, field in Recipe.model_fields.items() if field.discriminator is not None
)


def build_recipe(document: YamlDocument) -> Recipe:
    """Validate a document.

    Raises:
        DiagnosticError: CC101-CC105 for single fields, else CC2xx for contradictions.
    """
    collect = Collector()
    if not isinstance(document.data, Mapping):
        collect.add(_place(document, (), "CC103", "a recipe is a mapping of fields"))
        collect.raise_errors()
    _check_version(document, collect)
    derived = Collector()
    data = derive(_without_free_keys(document.data), derived)
    for diagnostic in derived.found:
        collect.add(locate(document, diagnostic))
    recipe: Recipe | None = None
    try:
        recipe = Recipe.model_validate(data)
    except ValidationError as error:
        details = [d for d in error.errors(include_url=False) if d["loc"] != ("version",)]
        for detail in _without_consequences(details):
            collect.add(_translate(document, data, detail))
    if recipe is not None:
        for diagnostic in rules.check(recipe):
            collect.add(locate(document, diagnostic))
    collect.raise_errors()
    assert recipe is not None  # a failed validation has raised above
    return recipe


def _without_consequences(details: list[ErrorDetails]) -> list[ErrorDetails]:
    """Drop missing fields that would have been derived if another field were right.

    If nothing else is wrong in their section, the fields they derive from are missing: then one
    report, of the first of them, is enough.
    """
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


def _derivable(detail: ErrorDetails) -> bool:
    return detail["type"] == "missing" and detail["loc"][-1] in _DERIVED_FROM


def _without_free_keys(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: free_keys(value) if isinstance(value, Mapping) else value
        for key, value in free_keys(data).items()
    }


def _check_version(document: YamlDocument, collect: Collector) -> None:
    version = document.data.get("version")
    if version is None:
        hint = f"add the line `version: {VERSION}`"
        collect.add(_place(document, ("version",), "CC102", "version: missing", hint))
    elif type(version) is not int or version != VERSION:
        newer = type(version) is int and version > VERSION
        hint = "this recipe needs a newer crosscast" if newer else f"write `version: {VERSION}`"
        message = f"this crosscast reads recipe version {VERSION}"
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
    """Add the place in the file to a diagnostic that only has a path."""
    path = tuple(diagnostic.path.split(".")) if diagnostic.path else ()
    of_key = isinstance(_lookup(document.data, path), Mapping) or path[:1] == ("overrides",)
    return replace(diagnostic, span=document.span(path, of_key=of_key))


def _translate(document: YamlDocument, data: Any, detail: ErrorDetails) -> Diagnostic:
    path = _without_union_tag(detail["loc"])
    kind = detail["type"]
    context = detail.get("ctx", {})
    dotted = ".".join(map(str, path))
    if kind == "extra_forbidden":
        near = suggest(str(path[-1]), field_names(path[:-1], data))
        hint = f"did you mean {near!r}?" if near else "free notes go under a key that starts x-"
        span = document.span(path, of_key=True)
        return Diagnostic(code="CC101", message="unknown field", path=dotted, span=span, hint=hint)
    if kind == "missing":
        span = document.span(path, of_key=True)
        hint = _DERIVED_HINTS.get(str(path[0]), "") if path[-1] in _DERIVED_FROM else ""
        return Diagnostic(code="CC102", message="missing", path=dotted, span=span, hint=hint)
    if kind == "union_tag_not_found":
        tag = str(context["discriminator"]).strip("'")
        missing = (*path, tag)
        return _place(document, missing, "CC102", "missing: it selects the other fields")
    if kind in ("literal_error", "union_tag_invalid"):
        if kind == "union_tag_invalid":
            path = (*path, str(context["discriminator"]).strip("'"))
        allowed = str(context.get("expected_tags") or context.get("expected")).replace("'", "")
        choices = [word.strip() for word in allowed.replace(" or ", ", ").split(",")]
        near = suggest(str(_lookup(data, path)), choices)
        hint = f"did you mean {near!r}?" if near else ""
        return _place(document, path, "CC104", f"not one of {', '.join(choices)}", hint)
    wrong_type = kind.endswith("_type") or kind in ("int_from_float", "model_attributes_type")
    code = "CC103" if wrong_type else "CC104"
    return _place(document, path, code, _sentence(detail["msg"], _lookup(data, path)))


def _sentence(message: str, value: Any) -> str:
    text = message.removeprefix("Input should be ").replace("Input should", "should")
    names = {str: "a string", bool: "true/false", dict: "a mapping", tuple: "a list"}
    given = names.get(type(value), "nothing" if value is None else repr(value))
    return f"must be {text}, got {given}" if text != message else message


def _lookup(data: Any, path: PathKey) -> Any:
    for key in path:
        if isinstance(data, Mapping) and key in data:
            data = data[key]
        elif isinstance(data, tuple) and isinstance(key, int):
            data = data[key] if key < len(data) else None
        else:
            return None
    return data


def _without_union_tag(location: PathKey) -> PathKey:
    """Drop the tag that pydantic puts behind the name of a discriminated union."""
    return location[:1] + location[2:] if location[0] in _UNIONS else location


def suggest(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice the user most likely meant, or None."""
    options = list(choices)
    synonym = _SYNONYMS.get(word.lower())
    if synonym in options:
        return synonym
    near = difflib.get_close_matches(word.lower(), options, n=1, cutoff=0.6)
    return near[0] if near else None
