"""Translate the validation errors of pydantic to diagnostics with locations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import ErrorDetails

from crosscast.messages.diagnostics import Diagnostic
from crosscast.recipe.bounds import bound_hint, bound_sentence
from crosscast.recipe.document import Recipe
from crosscast.recipe.launch import SLURM_NAME_PATTERN
from crosscast.recipe.metrics import METRIC_PATTERN
from crosscast.recipe.near_misses import hint_of_missing_tag, hint_of_scalar
from crosscast.recipe.schema import field_names, section_tag, words_with
from crosscast.recipe.section import (
    ARRAY_PATTERN,
    FACTORY_PATTERN,
    GLOB_PATTERN,
    PATH_PATTERN,
    SLUG_PATTERN,
)
from crosscast.recipe.suggestions import hint_for_key, hint_for_value
from crosscast.recipe.tracking import PROJECT_PATTERN
from crosscast.recipe.yaml_source import PathKey, YamlDocument

_UNIONS = frozenset(
    name for name, field in Recipe.model_fields.items() if field.discriminator is not None
)
PATTERNS = {
    SLUG_PATTERN: "1 to 64 letters, digits, dots, dashes and underscores, first a letter or digit",
    PATH_PATTERN: "a path without control characters",
    PROJECT_PATTERN: r"a name without / \\ # ? % : and control characters",
    GLOB_PATTERN: "a pattern of letters, digits and _ . / : - * ? [ ] !",
    ARRAY_PATTERN: "1 to 64 letters, digits and _, first a letter or _",
    METRIC_PATTERN: "1 to 32 letters, digits and _, first a letter",
    FACTORY_PATTERN: "of the form package.module:function",
    SLURM_NAME_PATTERN: "1 to 128 letters, digits and _ . , : + -, not starting with . , : + -",
}
"""Pattern to description, for messages."""
_KEY = "[key]"
"""The last part of pydantic's path where a key is wrong."""
_BOUNDS = {"greater_than_equal": "ge", "less_than_equal": "le"}
_MAPPING_TYPES = ("dict_type", "model_type", "model_attributes_type")


def lookup(data: Any, path: PathKey) -> Any:
    """Return the value at a path; None if there is none."""
    for key in path:
        if isinstance(data, Mapping) and key in data:
            data = data[key]
        elif isinstance(data, tuple) and isinstance(key, int):
            data = data[key] if key < len(data) else None
        else:
            return None
    return data


def field_path(detail: ErrorDetails) -> PathKey:
    """Return the path of an error, without what pydantic adds to it.

    That is a tag after a union's name, and a mark after a key that is wrong itself.
    """
    location = detail["loc"]
    if location[-1] == _KEY:
        location = location[:-1]
    return location[:1] + location[2:] if location[0] in _UNIONS else location


def translate(document: YamlDocument, data: Any, detail: ErrorDetails) -> Diagnostic:
    """Return the diagnostic for one error of pydantic.

    Args:
        document: The file.
        data: The validated data: that of the file with derived values.
        detail: The error.
    """
    path = field_path(detail)
    kind = detail["type"]
    code, of_key = "CC104", detail["loc"][-1] == _KEY
    if kind == "extra_forbidden":
        code, message, of_key = "CC101", "unknown field", True
        hint = _field_hint(path, document, data)
    elif kind == "missing":
        code, message, hint, of_key = "CC102", "missing", "", True
    elif kind == "union_tag_not_found":
        path = (*path, _tag_name(detail))
        code, message, hint, of_key = (
            "CC102",
            "missing: it determines which other fields are allowed",
            hint_of_missing_tag(str(path[0]), _tag_name(detail), lookup(data, path[:-1])),
            True,
        )
    elif kind in ("literal_error", "union_tag_invalid"):
        path = (*path, _tag_name(detail)) if kind == "union_tag_invalid" else path
        message, hint = _choice(detail, path, lookup(data, path))
    else:
        wrong_type = kind.endswith("_type") or kind == "int_from_float"
        code = "CC103" if wrong_type else code
        message, hint = _sentence(detail, lookup(data, path)), ""
        if kind in _MAPPING_TYPES and len(path) == 1:
            hint = hint_of_scalar(str(path[0]), lookup(data, path))
        if kind in _BOUNDS:
            field = ".".join(str(key) for key in path if isinstance(key, str))
            bound, lower = _bound(detail)
            hint = bound_hint(lookup(data, path), bound, field, lower=lower)
    return Diagnostic(
        code=code,
        message=message,
        path=".".join(map(str, path)),
        span=document.span(path, of_key=of_key),
        hint=hint,
    )


def _bound(detail: ErrorDetails) -> tuple[float, bool]:
    """Return a limit, and whether it is a lower one."""
    key = _BOUNDS[detail["type"]]
    return detail["ctx"][key], key == "ge"


def _tag_name(detail: ErrorDetails) -> str:
    return str(detail["ctx"]["discriminator"]).strip("'")


def _field_hint(path: PathKey, document: YamlDocument, data: Any) -> str:
    hint = hint_for_key(path, document.data, lookup(data, path))
    if hint:
        return hint
    section, name = ".".join(map(str, path[:-1])), str(path[-1])
    if others := words_with(section, name):
        return f"only with {section_tag(section)[0]}: {', '.join(others)}; otherwise remove it"
    known = ", ".join(field_names(path[:-1], data))
    return f"known fields: {known}; your own keys must start with x-"


def _choice(detail: ErrorDetails, path: PathKey, value: Any) -> tuple[str, str]:
    """Return message and hint for a word that is not one of the choices."""
    context = detail["ctx"]
    allowed = str(context.get("expected_tags") or context.get("expected")).replace("'", "")
    choices = [word.strip() for word in allowed.replace(" or ", ", ").split(",")]
    one_of = f"must be {choices[0]}" if len(choices) == 1 else f"not one of {', '.join(choices)}"
    return one_of, hint_for_value(path, value, choices)


def _sentence(detail: ErrorDetails, value: Any) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    names = {str: "a string", bool: "true/false", dict: "a mapping", tuple: "a list"}
    got = names.get(type(value), "nothing" if value is None else repr(value))
    if kind in _MAPPING_TYPES:
        return f"must be a mapping, got {got}"
    if kind == "tuple_type":
        return f"must be a list, got {got}"
    if kind == "string_too_short":
        return "must not be empty"
    if kind in ("too_long", "too_short"):
        bound = context.get("max_length", context.get("min_length"))
        limit = "at most" if kind == "too_long" else "at least"
        return f"must have {limit} {bound} items, got {context['actual_length']}"
    if kind == "string_pattern_mismatch":
        return f"must be {PATTERNS[context['pattern']]}"
    if kind in _BOUNDS:
        bound, lower = _bound(detail)
        return f"{bound_sentence(bound, lower=lower)}, got {got}"
    text = detail["msg"]
    for start in ("Input should ", "String should "):
        if text.startswith(start):
            return f"must {text.removeprefix(start)}, got {got}"
    return text
