"""Hints for keys and values that belong to the vocabulary of another tool."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from crosscast.recipe.other_vocabularies import KEYS, VALUES, Key, Value
from crosscast.recipe.schema import field_names, section_tag, variant_fields
from crosscast.recipe.yaml_source import PathKey

_LONGEST = 40
"""Characters of a value that a hint repeats."""
ANY = "*"
"""The word of a row for any value."""


@cache
def _keys() -> Mapping[str, tuple[Key, ...]]:
    rows_by_name: dict[str, tuple[Key, ...]] = {}
    for row in KEYS:
        for name in row.names.split():
            rows_by_name[name] = (*rows_by_name.get(name, ()), row)
    return rows_by_name


@cache
def _values() -> Mapping[tuple[str, str], Value]:
    return {(row.field, word): row for row in VALUES for word in row.words.split()}


def spelling(word: object) -> str:
    """Return a key or value as the tables have it."""
    text = "null" if word is None else str(word).strip().lower()
    return text.replace("-", "_").replace(" ", "_")


def key_row(path: PathKey, data: Any, value: object) -> Key | None:
    """Return the row of an unknown key; None without one whose field the recipe can have.

    Args:
        path: where the key is.
        data: the whole recipe.
        value: what is written below the key.
    """
    *parent, word = map(str, path)
    for row in _keys().get(spelling(word), ()):
        if row.within and [row.within] != parent:
            continue
        if row.values and spelling(_switch(value)) not in row.values.split():
            continue
        if row.write or can_have(row.field, data):
            return row
    return None


def can_have(field: str, data: Any) -> bool:
    """Whether a recipe can have a field: that of any variant, if it chooses none."""
    *parent, name = field.split(".")
    known = field_names(tuple(parent), data)
    return name in known or (not known and name in variant_fields(parent[0]))


def hint_of_key(row: Key, data: Any, value: object) -> str:
    """Return a hint about the field to write in place of a key of another tool."""
    switch = _switch(value)
    known = None if row.values else value_row(row.field, switch)
    if known is not None:
        section, _, leaf = row.field.rpartition(".")
        word = f"{section}: {{{leaf}: {known.value}}}" if section else f"{leaf}: {known.value}"
        write = known.write or (word if known.value else "")
        return _join_hints(f"write `{write}`" if write else "", known.note)
    if not row.write and row.values:
        return row.note
    if row.write and not _has_section(row.field, data):
        return _join_hints(f"write `{_filled(row.write, switch)}`", row.note)
    return _join_hints(f"did you mean {row.field}?", row.note)


def value_row(field: str, value: object) -> Value | None:
    """Return the row of a value; None without one for this very value."""
    return None if isinstance(value, Mapping) else _values().get((field, spelling(value)))


def hint_of_value(row: Value, value: object) -> str:
    """Return a hint about the value to write in place of one of another tool."""
    if row.write:
        return _join_hints(f"write `{_filled(row.write, value)}`", row.note)
    return _join_hints(f"did you mean {row.value}?" if row.value else "", row.note)


def hint_of_any_value(field: str, value: object) -> str:
    """Return the hint for whatever else is written in a field; empty without one."""
    row = _values().get((field, ANY))
    return hint_of_value(row, value) if row else ""


def hint_of_scalar(section: str, value: object) -> str:
    """Return the hint for a word or number where a section must be; empty without one."""
    row = value_row(section, value)
    if row is not None:
        return hint_of_value(row, value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return hint_of_any_value(section, value)
    tag, words = section_tag(section)
    row = value_row(f"{section}.{tag}", value)
    if row is not None and not row.value:
        return hint_of_value(row, value)
    word = row.value if row else spelling(value)
    if word not in words:
        return hint_of_any_value(f"{section}.{tag}", value) if isinstance(value, str) else ""
    return _join_hints(f"write `{section}: {{{tag}: {word}}}`", row.note if row else "")


def hint_of_missing_tag(section: str, tag: str, data: object) -> str:
    """Return which key of a section another tool has in place of a tag; empty without one."""
    for key in data if isinstance(data, Mapping) else ():
        for row in _keys().get(spelling(key), ()):
            if row.field == f"{section}.{tag}" and row.within in ("", section):
                return _join_hints(f"write `{tag}` for `{key}`", row.note)
    return ""


def _has_section(field: str, data: Any) -> bool:
    section, dot, name = field.partition(".")
    return bool(dot) and section in data and name in field_names((section,), data)


def _filled(text: str, value: object) -> str:
    shown = str(value) if isinstance(value, int | float | str) else ""
    return text.replace("{value}", shown if 0 < len(shown) <= _LONGEST else "...")


def _switch(value: object) -> object:
    """Return the switch of a section that can be turned off, such as DeepSpeed's fp16."""
    return value.get("enabled", value) if isinstance(value, Mapping) else value


def _join_hints(first: str, note: str) -> str:
    """Return a hint and what else differs."""
    if not first or not note:
        return first or note
    return f"{first} {note[0].upper()}{note[1:]}" if first.endswith("?") else f"{first}; {note}"
