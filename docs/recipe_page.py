"""The docs page about recipe fields, generated from the JSON Schema."""

from __future__ import annotations

import json
from typing import Any

from crosscast.recipe.bounds import bound_text
from crosscast.recipe.document import Recipe
from crosscast.recipe.schema import recipe_schema
from crosscast.recipe.section import BELOW_ONE, LARGEST, SMALLEST


def recipe_page() -> str:
    """Return the docs page docs/reference/recipe.md."""
    schema = recipe_schema()
    lines = [
        "# Recipe fields",
        "",
        "Generated from the recipe's schema; do not edit.",
        "",
        "A recipe is a YAML 1.2 file. Unknown fields are errors, except keys that start with `x-`.",
        'Values are not converted: `4` is not `"4"`. `crosscast show FILE` prints all defaults.',
        "Integers are at most 2147483647 (int32); paths have at most 255 characters.",
        "Frameworks compute in float32, and many kernels take subnormal numbers for 0: `> 0` means",
        f"at least 2^-126 ({bound_text(SMALLEST, lower=True)}), `< 1` at most 1 - 2^-24 "
        f"({bound_text(BELOW_ONE, lower=False)}),",
        f"and no number is above 2^126 ({bound_text(LARGEST, lower=False)}), unless the table says "
        "so.",
        "",
        *_table(schema, schema),
    ]
    for name in Recipe.SECTIONS:
        lines += ["", f"## {name}"]
        tag = schema["properties"][name].get("discriminator", {}).get("propertyName", "")
        for kind in _kinds(schema["properties"][name]):
            definition = schema["$defs"][kind]
            lines += ["", *_heading(definition, tag), definition["description"], ""]
            lines += _table(schema, definition, name)
        lines += _parts(schema, name)
    return "\n".join([*lines, ""])


def _kinds(node: dict[str, Any]) -> list[str]:
    options = node.get("oneOf", [node])
    return [str(option["$ref"]).removeprefix("#/$defs/") for option in options]


def _heading(definition: dict[str, Any], tag: str) -> list[str]:
    return [f"### `{tag}: {definition['properties'][tag]['const']}`", ""] if tag else []


def _parts(schema: dict[str, Any], section: str) -> list[str]:
    """Return the tables of the sections below one, each once."""
    found: dict[str, str] = {}
    for kind in _kinds(schema["properties"][section]):
        for name, field in schema["$defs"][kind]["properties"].items():
            inner = _section(field.get("items", field))
            if "$ref" in inner:
                found[name] = _kinds(inner)[0]
    lines: list[str] = []
    for name, kind in found.items():
        definition = schema["$defs"][kind]
        lines += ["", f"### {section}.{name}", "", definition["description"], ""]
        lines += _table(schema, definition, section)
    return lines


def _section(field: Any) -> dict[str, Any]:
    """Return the reference to a section that a field may hold; otherwise the field."""
    if not isinstance(field, dict):
        return {}
    return next((each for each in field.get("anyOf", ()) if "$ref" in each), field)


def _table(schema: dict[str, Any], definition: dict[str, Any], section: str = "") -> list[str]:
    lines = ["| field | type | default | meaning |", "|---|---|---|---|"]
    required = definition.get("required", [])
    for name, field in definition["properties"].items():
        if "$ref" in field or "oneOf" in field:
            kind, default = f"see [below](#{section}{name})", ""
        elif "$ref" in _section(field):
            kind = f"`true`, or see [below](#{section}{name})"
            default = _default(field, name in required)
        elif "$ref" in field.get("items", {}):
            kind = f"list of mappings, see [below](#{section}{name})"
            default = _default(field, name in required)
        else:
            kind, default = _type(schema, field), _default(field, name in required)
        words = " ".join(str(field.get("description", "")).split())
        lines.append(f"| `{name}` | {kind} | {default} | {words} |")
    return lines


def _default(field: dict[str, Any], required: bool) -> str:
    if required:
        return "required"
    if field.get("default") is None:
        return "derived" if "default" not in field else "none"
    return f"`{json.dumps(field['default'])}`"


_OF_FLOAT32 = {
    ("minimum", SMALLEST): "> 0",
    ("maximum", BELOW_ONE): "< 1",
    ("maximum", LARGEST): "",
}
"""Limits that the page names once."""


def _type(schema: dict[str, Any], field: dict[str, Any]) -> str:
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "anyOf" in field:
        return _type(schema, next(o for o in field["anyOf"] if o.get("type") != "null"))
    if field.get("type") == "array":
        items = field["items"]
        if isinstance(items, list):
            types = dict.fromkeys(_type(schema, item) for item in items)
            return f"list of exactly {len(items)}: {', '.join(types)}"
        return f"list of {_type(schema, items)}"
    bounds = {
        "minimum": "≥ {}",
        "exclusiveMinimum": "> {}",
        "maximum": "≤ {}",
        "exclusiveMaximum": "< {}",
    }
    limits = [
        _OF_FLOAT32.get(
            (key, field[key]),
            text.format(bound_text(field[key], lower=key.lower().endswith("minimum"))),
        )
        for key, text in bounds.items()
        if key in field
    ]
    limits = [text for text in limits if text not in ("", "≤ 2147483647")]
    return " ".join([f"{field.get('type', 'mapping')}", *limits])
