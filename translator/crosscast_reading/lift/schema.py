"""The JSON Schema of what `crosscast lift --json` prints."""

from __future__ import annotations

import json
from typing import Any

from crosscast_reading.facts.fact import Layer
from crosscast_reading.facts.vocabulary import (
    NUMBER,
    TEXT,
    VOCABULARY,
    Field,
    printed_name,
    printed_value,
)
from crosscast_reading.lift.recipe_draft import KINDS

_TEXT = {"type": "string"}
_ORIGINS = (
    *("literal", "constant", "derived", "flag", "function_argument", "config"),
    *("shell_variable", "library_default", "presence"),
)


def lift_schema() -> dict[str, Any]:
    """Return the schema, version 1."""
    sections: dict[str, Any] = {}
    optimizer: dict[str, Any] = {"subject": _TEXT}
    for name, entry in VOCABULARY.items():
        section, _, rest = printed_name(name).partition(".")
        leaf = {"allOf": [{"$ref": "#/$defs/leaf"}], "properties": {"value": _value(name, entry)}}
        leaf["description"] = entry.meaning
        if entry.of_subject:
            optimizer[rest] = leaf
        elif rest:
            part = sections.setdefault(section, _object({}))
            part["properties"][rest] = leaf
        else:
            sections[section] = leaf
    sections["optimizers"] = {"type": "array", "items": _object(optimizer, "subject")}
    group = _object(
        {
            "name": _TEXT,
            "sources": {"type": "array", "items": _TEXT},
            "profile": {"$ref": "#/$defs/profile"},
            "by_file": {
                "type": "object",
                "additionalProperties": {"$ref": "#/$defs/profile"},
                "description": "what each file itself says",
            },
            "fields": {"type": "object", "additionalProperties": {"$ref": "#/$defs/field"}},
            "counts": {
                **_object({kind: {"type": "integer"} for kind in KINDS}, *KINDS),
                "description": "how many values of the recipe are of each kind",
            },
            "recipe": {
                "type": ["object", "null"],
                "description": "see recipe-v1.json and -v2.json",
            },
            "not_said": {"type": "array", "items": _TEXT},
            "not_understood": {"type": "array", "items": {"$ref": "#/$defs/unread"}},
            "diagnostics": {"type": "array", "items": {"type": "object"}},
            "run": {"$ref": "#/$defs/run"},
        },
        *("name", "sources", "profile", "by_file", "fields", "counts", "recipe", "not_said"),
        *("not_understood", "diagnostics"),
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What crosscast lift reads, version 1",
        **_object(
            {
                "version": {"const": 1},
                "groups": {"type": "array", "items": group},
                "diagnostics": {"type": "array", "items": {"type": "object"}},
            },
            *("version", "groups", "diagnostics"),
        ),
        "$defs": {"profile": _object(sections), **_definitions()},
    }


def _definitions() -> dict[str, Any]:
    plain = {"type": ["boolean", "number", "string", "null", "array"]}
    fact = {
        "value": plain,
        "expression": {**_TEXT, "description": "text of the source behind the value"},
        "reason": {**_TEXT, "description": "why the value is not known"},
        "files": {"type": "array", "items": _TEXT, "description": "the sources that say it"},
        "places": {"type": "array", "items": {"$ref": "#/$defs/place"}},
        "layer": {"enum": [str(layer) for layer in Layer]},
        "confidence": {"enum": ["certain", "likely", "guess"]},
        "origin": {"enum": list(_ORIGINS)},
        "under": {"type": "array", "items": _TEXT},
        "reader": _TEXT,
    }
    needed = ("files", "places", "layer", "confidence", "origin", "under", "reader")
    others = {"type": "array", "items": _object(fact, *needed)}
    return {
        "place": _object(
            {"file": _TEXT, "line": {"type": "integer"}, "column": {"type": "integer"}},
            *("file", "line", "column"),
        ),
        "leaf": {
            "type": "object",
            "properties": {**fact, "others": others},
            "required": list(needed),
        },
        "run": run_schema(),
        "unread": _object({"field": _TEXT, **fact}, "field", *needed),
        "field": _object(
            {
                "value": True,
                "how": {
                    "enum": list(KINDS),
                    "description": "read: a source says it; derived: computed from its places; "
                    "default: of a library; assumed: no source says it (FILL IN)",
                },
                "confidence": {"enum": ["certain", "likely", "guess"]},
                "note": _TEXT,
                "places": {"type": "array", "items": {"$ref": "#/$defs/place"}},
            },
            *("value", "how", "confidence", "note", "places"),
        ),
    }


def run_schema() -> dict[str, Any]:
    """Return the schema of what a run of the program says, with --run."""
    statuses = ("proven", "contradicted", "found", "not exercised")
    field = _object(
        {"status": {"enum": list(statuses)}, "value": True, "run": True, "why": _TEXT},
        *("status", "value", "run", "why"),
    )
    texts = {"type": "array", "items": _TEXT}
    properties: dict[str, Any] = {
        "command": _TEXT,
        "where": {**_TEXT, "description": "interpreter and folder"},
        "problem": {**_TEXT, "description": "why the run shows nothing; empty if it does"},
        "updates": {"type": "integer"},
        "sentence": _TEXT,
        "fields": {"type": "object", "additionalProperties": field},
        "counts": _object({status: {"type": "integer"} for status in statuses}, *statuses),
        "unexplained": {**texts, "description": "checks that fail whatever value is tried"},
        "notes": texts,
    }
    return _object(properties, *properties)


def _value(name: str, entry: Field) -> dict[str, Any]:
    if entry.values == NUMBER:
        schema: dict[str, Any] = {"type": ["number", "string", "null"]}
    elif entry.values == TEXT:
        schema = {"type": ["string", "number", "boolean", "null"]}
    else:
        schema = {"enum": [*(printed_value(name, value) for value in entry.values), None]}
    return {"type": "array", "items": schema} if entry.many else schema


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def schema_text() -> str:
    """Return the schema as the file holds it."""
    return json.dumps(lift_schema(), indent=2) + "\n"
