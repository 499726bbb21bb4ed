"""Suggest corrections: similar names, and the names of other tools."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from crosscast.recipe.document import Recipe
from crosscast.recipe.near_misses import (
    can_have,
    hint_of_any_value,
    hint_of_key,
    hint_of_value,
    key_row,
    value_row,
)
from crosscast.recipe.schema import field_names
from crosscast.recipe.yaml_source import PathKey


def suggest(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice with the most similar spelling, or None."""
    near = difflib.get_close_matches(word.lower(), list(choices), n=1, cutoff=0.6)
    return near[0] if near else None


def suggest_field(path: PathKey, data: Any, value: object = None) -> str:
    """Return the dotted path of the field that an unknown one most likely means, or ""."""
    row = key_row(path, data, value)
    return row.field if row else _similar_field(path, data)


def hint_for_key(path: PathKey, data: Any, value: object) -> str:
    """Return the hint for an unknown field; empty if nothing is similar."""
    row = key_row(path, data, value)
    if row is not None:
        return hint_of_key(row, data, value)
    near = _similar_field(path, data)
    return f"did you mean {near}?" if near else ""


def hint_for_value(path: PathKey, value: object, choices: Iterable[str]) -> str:
    """Return the hint for a word that is not one of the choices; empty if nothing is similar."""
    field = ".".join(map(str, path))
    row = value_row(field, value)
    if row is not None:
        return hint_of_value(row, value)
    near = suggest(str(value), choices)
    return f"did you mean {near}?" if near else hint_of_any_value(field, value)


def _similar_field(path: PathKey, data: Any) -> str:
    *parent, word = map(str, path)
    near = suggest(word, field_names(tuple(parent), data))
    if near:
        return ".".join((*parent, near))
    for section in Recipe.SECTIONS:  # the right name in the wrong place
        if word in field_names((section,), data):
            return f"{section}.{word}"
    outside = (f"{section}.{word}" for section in Recipe.SECTIONS if not parent)
    return next((field for field in outside if can_have(field, data)), "")
