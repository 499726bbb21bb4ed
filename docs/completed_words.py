"""The words that shells complete, generated: reading them must not load backends and rules."""

from __future__ import annotations

import json

from crosscast.recipe.schema import value_fields, words_of
from own_parts import own_backends, own_rules


def completed_words() -> str:
    """Return the data of `crosscast.cli.completion`: targets, rules and fields with their words."""
    targets: list[str] = []
    for backend in own_backends():
        names = [
            each
            for dialect in backend.dialects
            for each in (dialect.name, dialect.newest, dialect.since)
            if each
        ]
        targets += [backend.name, *(f"{backend.name}@{each}" for each in dict.fromkeys(names))]
    fields = {field: list(words_of(field)) for field in value_fields()}
    data: dict[str, object] = {
        "targets": targets,
        "rules": [rule.code for rule in own_rules()],
        "fields": fields,
    }
    return "".join(f"{line}\n" for line in _lines(data))


def _lines(data: dict[str, object]) -> list[str]:
    """Return JSON with a line for every list."""
    rows = [f" {json.dumps(name)}: {json.dumps(content)}" for name, content in data.items()]
    return ["{", *(f"{row}," for row in rows[:-1]), rows[-1], "}"]
