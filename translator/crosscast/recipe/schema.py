"""The JSON Schema of recipes, and the field names of each section."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from crosscast.recipe.docstrings import field_docs
from crosscast.recipe.document import Recipe, Section
from crosscast.recipe.yaml_source import PathKey

# Fields that a file may omit because `crosscast.recipe.derive` fills them in.
_DERIVED = {
    "Recipe": ("loss_scaling", "batch", "accumulation"),
    "BertModel": ("layers", "hidden_size", "attention_heads", "intermediate_size"),
    "Batch": ("micro_batch_size", "global_batch_size"),
    "Accumulation": ("steps",),
}


def recipe_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12, readable as draft 7) of a recipe file."""
    schema = Recipe.model_json_schema(mode="validation")
    definitions: dict[str, Any] = schema["$defs"]
    _describe(schema)
    for name, fields in _DERIVED.items():
        target = schema if name == "Recipe" else definitions[name]
        target["required"] = [f for f in target.get("required", []) if f not in fields]
        if not target["required"]:
            del target["required"]
    for target in (schema, *definitions.values()):
        target["patternProperties"] = {"^x-": {}}
        _tuples_as_draft7(target)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "crosscast recipe, version 1",
        **{key: value for key, value in schema.items() if key != "title"},
    }


def _describe(schema: dict[str, Any]) -> None:
    """Add the docstrings of the fields as their descriptions."""
    classes: list[type] = [Section]
    for cls in classes:  # grows: includes indirect subclasses
        classes += cls.__subclasses__()
    by_name = {cls.__name__: cls for cls in classes if cls.__module__.startswith("crosscast.")}
    for name, target in {"Recipe": schema, **schema["$defs"]}.items():
        for field, text in field_docs(by_name[name]).items():
            target["properties"][field]["description"] = text


def _tuples_as_draft7(node: Any) -> None:
    """Convert fixed-length tuples to the syntax of draft 7, for editors."""
    if isinstance(node, dict):
        if "prefixItems" in node:
            node["items"] = node.pop("prefixItems")
        for value in node.values():
            _tuples_as_draft7(value)
    elif isinstance(node, list):
        for value in node:
            _tuples_as_draft7(value)


def schema_text() -> str:
    """Return the schema as the text that is committed and shipped."""
    return json.dumps(recipe_schema(), indent=2, ensure_ascii=False) + "\n"


@cache
def _raw_schema() -> dict[str, Any]:
    return Recipe.model_json_schema()


def field_names(path: PathKey, data: Any) -> list[str]:
    """Return the fields at a path, with variants selected by the tags in `data`."""
    schema = _raw_schema()
    node: dict[str, Any] = schema
    for key in path:
        if "items" in node:  # all items of a list have the same schema
            data = data[int(key)] if isinstance(data, tuple) and str(key).isdigit() else None
            node = _resolve(schema, node["items"], data)
            continue
        data = data.get(key) if isinstance(data, Mapping) else None
        node = _resolve(schema, node.get("properties", {}).get(key, {}), data)
    return list(node.get("properties", {}))


def _resolve(schema: dict[str, Any], node: dict[str, Any], data: Any) -> dict[str, Any]:
    if "discriminator" in node:
        tag = data.get(node["discriminator"]["propertyName"]) if isinstance(data, Mapping) else None
        known = node["discriminator"]["mapping"]
        node = {"$ref": known.get(tag, "") if isinstance(tag, str) else ""}
    name = str(node.get("$ref", "")).removeprefix("#/$defs/")
    found: dict[str, Any] = schema["$defs"].get(name, node)
    return found
