"""The JSON Schema of recipes, and the field names of each section."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from crosscast.recipe.docstrings import field_docs
from crosscast.recipe.document import VERSION, OpTypes, Recipe, Section
from crosscast.recipe.tracking import SWITCHES
from crosscast.recipe.versions import OLDEST, WORDS_OF_1
from crosscast.recipe.yaml_source import PathKey

# Optional fields whose default depends on others: what their class says would mislead.
_NO_DEFAULT = {"Precision": ("policy", "ops"), "OpTypes": tuple(OpTypes.model_fields)}
_TYPES_OF_1 = (
    "Dtype of each class of operations in the shipped BERT, if precision.mode is not none.\n"
    "`compute` stands for `precision.compute_dtype`."
)
_POINTWISE_OF_1 = "GELU, tanh, dropout and residual additions."
# Fields that a file may omit because `crosscast.recipe.derive` fills them in.
_DERIVED = {
    "Recipe": ("loss_scaling", "batch", "accumulation"),
    "BertModel": ("layers", "hidden_size", "attention_heads", "intermediate_size"),
    "Batch": ("micro_batch_size", "global_batch_size"),
    "Accumulation": ("steps",),
    "Mlflow": ("experiment", "name"),
    "Wandb": ("project", "name"),
    "Trackio": ("project", "name"),
}


def recipe_schema(version: int = VERSION) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12, readable as draft 7) of recipe files of a version."""
    schema = _model_schema()
    definitions: dict[str, Any] = schema["$defs"]
    _describe(schema)
    if version == OLDEST:
        _as_version_1(schema)
    else:
        for name, fields in _NO_DEFAULT.items():
            for known in fields:
                del definitions[name]["properties"][known]["default"]
        del schema["properties"]["precision"]["default"]
    for name, fields in _DERIVED.items():
        target = schema if name == "Recipe" else definitions[name]
        target["required"] = [f for f in target.get("required", []) if f not in fields]
        if not target["required"]:
            del target["required"]
    for name in SWITCHES:
        definitions["Tracking"]["properties"][name]["anyOf"].insert(0, {"type": "boolean"})
    for target in (schema, *definitions.values()):
        target["patternProperties"] = {"^x-": {}}
        _tuples_as_draft7(target)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"crosscast recipe, version {version}",
        **{key: value for key, value in schema.items() if key != "title"},
    }


def _as_version_1(schema: dict[str, Any]) -> None:
    """Take out what version 2 added (`crosscast.recipe.versions`)."""
    definitions = schema["$defs"]
    schema["description"] = schema["description"].replace(f"version {VERSION}", f"version {OLDEST}")
    schema["properties"]["version"]["const"] = OLDEST
    del definitions["BertModel"]["properties"]["attention"]
    del definitions["Precision"]["properties"]["policy"]
    types = definitions["OpTypes"]
    types["description"] = _TYPES_OF_1
    del types["properties"]["residual"]
    types["properties"]["pointwise"]["description"] = _POINTWISE_OF_1
    for node in types["properties"].values():
        node["enum"] = list(WORDS_OF_1)
        node["default"] = WORDS_OF_1[0] if node["default"] == "half" else node["default"]
    words = {name: node["default"] for name, node in types["properties"].items()}
    definitions["Precision"]["properties"]["ops"]["default"] = words
    default = schema["properties"]["precision"]["default"]
    del default["policy"]
    default["ops"] = words


def _model_schema() -> dict[str, Any]:
    for cls in _sections():  # before pydantic 2.14, sections that are defaults are not built
        cls.model_rebuild()
    return Recipe.model_json_schema()


def _sections() -> list[type[Section]]:
    """Return the classes of all sections."""
    classes: list[type[Section]] = [Section]
    for cls in classes:  # grows: includes indirect subclasses
        classes += cls.__subclasses__()
    return [cls for cls in classes if cls.__module__.startswith("crosscast.")]


def _describe(schema: dict[str, Any]) -> None:
    """Add the docstrings of the fields as their descriptions."""
    by_name = {cls.__name__: cls for cls in _sections()}
    for name, target in {"Recipe": schema, **schema["$defs"]}.items():
        for known, text in field_docs(by_name[name]).items():
            target["properties"][known]["description"] = text


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


def schema_text(version: int = VERSION) -> str:
    """Return the schema of a version as the text that is committed and shipped."""
    return text_of(recipe_schema(version))


def text_of(schema: Mapping[str, Any]) -> str:
    """Return a schema as text, as files hold it."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


@cache
def _raw_schema() -> dict[str, Any]:
    return _model_schema()


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


def _variants(section: str) -> list[dict[str, Any]]:
    schema = _raw_schema()
    node = schema["properties"].get(section, {})
    if "discriminator" not in node:
        return [_resolve(schema, node, None)]
    references = node["discriminator"]["mapping"].values()
    return [_resolve(schema, {"$ref": reference}, None) for reference in references]


@cache
def variant_fields(section: str) -> frozenset[str]:
    """Return the fields that a section has in any of its variants."""
    return frozenset(name for node in _variants(section) for name in node.get("properties", {}))


@cache
def section_tag(section: str) -> tuple[str, frozenset[str]]:
    """Return the field that says what a section is, and its words; empty without one."""
    for node in _variants(section):
        for name, child in node.get("properties", {}).items():
            if "enum" in child or "const" in child:
                tag_words = [
                    _words_in(_raw_schema(), each["properties"][name])
                    for each in _variants(section)
                ]
                return name, frozenset(word for words in tag_words for word in words)
    return "", frozenset()


@cache
def words_with(section: str, name: str) -> tuple[str, ...]:
    """Return the words of a section's tag with which it has a field; none without a tag."""
    tag, _ = section_tag(section)
    having = (
        [node for node in _variants(section) if name in node.get("properties", {})] if tag else []
    )
    words = [_words_in(_raw_schema(), node["properties"][tag]) for node in having]
    return tuple(word for of_variant in words for word in of_variant)


@cache
def value_fields() -> tuple[str, ...]:
    """Return the dotted paths of all fields of all variants that are no section, in order."""
    return tuple(dict.fromkeys(_paths(_raw_schema(), "")))


@cache
def words_of(field: str) -> tuple[str, ...]:
    """Return the words that a field takes, in any variant of its section."""
    *section, name = field.split(".")
    parts = [_raw_schema()]
    for each in section:
        nodes = [part["properties"][each] for part in parts if each in part.get("properties", {})]
        parts = [option for each in nodes for option in _alternatives(_raw_schema(), each)]
    known = [part["properties"][name] for part in parts if name in part.get("properties", {})]
    return tuple(dict.fromkeys(word for each in known for word in _words_in(_raw_schema(), each)))


def _paths(node: dict[str, Any], start: str) -> Iterator[str]:
    schema = _raw_schema()
    for name, child in node.get("properties", {}).items():
        sections = [part for part in _alternatives(schema, child) if "properties" in part]
        for part in sections:
            yield from _paths(part, f"{start}{name}.")
        if not sections:
            yield f"{start}{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaNode:
    """What may stand at a path of a recipe."""

    text: str = ""
    """The documentation of the field."""
    kind: str = ""
    """The type of the value in words; empty if it is a section of one kind."""
    words: tuple[str, ...] = ()
    """The values that are allowed, if they are words."""
    default: str = ""
    """The default as JSON; empty if there is none."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Name to documentation, for a section."""


@cache
def _described(version: int) -> dict[str, Any]:
    return recipe_schema(version)


def schema_at(path: PathKey, data: Any) -> SchemaNode:
    """Return the schema of a path, with variants selected by the tags in `data`."""
    version = data.get("version") if isinstance(data, Mapping) else None
    # An unfinished text is read without types.
    schema = _described(OLDEST if str(version) == str(OLDEST) else VERSION)
    section = node = schema
    words: list[str] = []
    for key in path:
        tag = node.get("discriminator", {}).get("propertyName", "")
        data = data.get(key) if isinstance(data, Mapping) else None
        items = section.get("items", {})
        above, node = (
            node,
            items if isinstance(key, int) else section.get("properties", {}).get(key, {}),
        )
        section = _content(schema, node, data)
        words = [*above["discriminator"]["mapping"]] if tag and key == tag else []
    default = json.dumps(node["default"]) if "default" in node else ""
    fields = {n: f.get("description", "") for n, f in section.get("properties", {}).items()}
    if not fields and "discriminator" in node:
        fields = {node["discriminator"]["propertyName"]: ""}
    return SchemaNode(
        text=node.get("description", "") if path else "",
        kind=" or ".join(dict.fromkeys(_kinds(schema, node))),
        words=tuple(words or dict.fromkeys(_words_in(schema, node))),
        default=default if default != "null" else "",
        fields=fields,
    )


def _content(schema: dict[str, Any], node: dict[str, Any], data: Any) -> dict[str, Any]:
    """Return the alternative of a node that has fields or items, selected by the tag in `data`."""
    if "discriminator" in node:
        return _resolve(schema, node, data)
    alternatives = _alternatives(schema, node)
    return next((each for each in alternatives if "properties" in each or "items" in each), {})


def _alternatives(schema: dict[str, Any], node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the alternatives of a node, with references followed."""
    if "$ref" in node:
        node = schema["$defs"].get(node["$ref"].removeprefix("#/$defs/"), {})
    several = node.get("anyOf") or node.get("oneOf") or node.get("allOf")
    if not several:
        return [node]
    return [alternative for each in several for alternative in _alternatives(schema, each)]


@cache
def all_fields() -> tuple[str, ...]:
    """Return the dotted paths of all fields and sections of a recipe, those of every variant."""
    return tuple(dict.fromkeys(_paths_below(_raw_schema(), _raw_schema(), "")))


def _paths_below(schema: dict[str, Any], node: dict[str, Any], above: str) -> Iterator[str]:
    for each in _alternatives(schema, node):
        for name, child in each.get("properties", {}).items():
            yield f"{above}{name}"
            yield from _paths_below(schema, child, f"{above}{name}.")


def _kinds(schema: dict[str, Any], node: dict[str, Any]) -> list[str]:
    if "discriminator" in node:
        return []
    kinds = []
    for each in _alternatives(schema, node):
        if "type" in each and not each.get("properties"):
            kinds.append({"array": "list", "object": "mapping"}.get(each["type"], each["type"]))
    return kinds


def _words_in(schema: dict[str, Any], node: dict[str, Any]) -> list[str]:
    words: list[str] = []
    for each in _alternatives(schema, node):
        values = each.get("enum", [each["const"]] if "const" in each else [])
        words += [value for value in values if isinstance(value, str)]
        words += ["true", "false"] if each.get("type") == "boolean" else []
    return words


def _resolve(schema: dict[str, Any], node: dict[str, Any], data: Any) -> dict[str, Any]:
    if "discriminator" in node:
        tag = data.get(node["discriminator"]["propertyName"]) if isinstance(data, Mapping) else None
        known = node["discriminator"]["mapping"]
        node = {"$ref": known.get(tag, "") if isinstance(tag, str) else ""}
    node = next((each for each in node.get("anyOf", ()) if "$ref" in each), node)
    name = str(node.get("$ref", "")).removeprefix("#/$defs/")
    resolved: dict[str, Any] = schema["$defs"].get(name, node)
    return resolved
