"""The JSON Schema: committed, fresh, and of one opinion with the reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

from crosscast.emit.render import template_root
from crosscast.recipe.document import Recipe
from crosscast.recipe.schema import field_names, recipe_schema, schema_text
from crosscast.recipe.yaml_source import parse
from crosscast.recipe.yaml_text import recipe_text
from property_settings import examples
from recipe_strategies import recipes
from recipe_texts import FLOAT16, problems_of, text_of

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = (1, 2)
COMMITTED = {version: ROOT / "schema" / f"recipe-v{version}.json" for version in VERSIONS}
VALIDATORS = {version: jsonschema.Draft7Validator(recipe_schema(version)) for version in VERSIONS}


def plain(text: str) -> Any:
    """Return a YAML text as JSON would have it."""
    return json.loads(json.dumps(parse(text, "f").data))


def errors(text: str) -> list[Any]:
    """Return what the schema of its version has against a recipe; version 1 where it has none."""
    data = plain(text)
    version = data.get("version")
    return list(VALIDATORS[version if version in VERSIONS else 1].iter_errors(data))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_committed_schema_is_fresh(version: int) -> None:
    assert COMMITTED[version].read_text(encoding="utf-8") == schema_text(version)


@pytest.mark.parametrize("version", VERSIONS)
def test_it_is_a_schema_of_draft_7(version: int) -> None:
    jsonschema.Draft7Validator.check_schema(recipe_schema(version))
    text = json.dumps(recipe_schema(version))
    for keyword in ("prefixItems", "$dynamicRef", "unevaluatedProperties"):
        assert keyword not in text


def test_every_field_is_described_or_says_what_it_takes() -> None:
    definitions = recipe_schema()["$defs"]
    assert {"BertModel", "CustomModel", "Schedule", "AdamW"} <= set(definitions)
    for name, definition in definitions.items():
        assert definition["description"], name
        assert definition["additionalProperties"] is False, name
        for field, node in definition["properties"].items():
            assert {"type", "$ref", "anyOf", "enum", "const"} & set(node), f"{name}.{field}"


def recipe_files() -> list[Path]:
    return [
        *sorted((ROOT / "examples").glob("*/recipe.yaml")),
        *template_root().rglob("*.recipe.yaml"),
    ]


@pytest.mark.parametrize("path", recipe_files(), ids=lambda path: path.parent.name)
def test_shipped_recipes_are_valid_and_name_their_schema(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert problems_of(text) == ()
    assert errors(text) == []
    first = text.splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    named = path.parent / first.partition("=")[2]
    if ROOT / "examples" in path.parents:
        assert named.resolve() == COMMITTED[plain(text)["version"]]


@settings(max_examples=examples(25))
@given(recipes())
def test_every_recipe_fits_the_schema(recipe: Recipe) -> None:
    assert errors(recipe_text(recipe)) == []


GOOD: list[dict[str, str | None]] = [
    {},
    {"accumulation": None},
    {"batch": "{global_batch_size: 8}"},
    {"precision": FLOAT16, "loss_scaling": None},
    {"optimizer": "{name: sgd, learning_rate: 1}"},
    {"schedule": "{total_steps: 10, warmup_ratio: 0.1}"},
    {"model": "{kind: bert, preset: tiny, labels: 3, x-note: free}"},
    {"x-note": "{anything: [1]}"},
    {"overrides": "{torch: {compile: true}}"},
    {"precision": "{mode: mixed, compute_dtype: bfloat16, ops: {pointwise: compute}}"},
    {"version": "2", "precision": "{mode: mixed, compute_dtype: bfloat16, policy: keras}"},
    {"version": "2", "model": "{kind: bert, preset: tiny, labels: 3, attention: explicit}"},
]
BAD: list[dict[str, str | None]] = [
    {"version": "3"},
    {"precision": "{mode: mixed, compute_dtype: bfloat16, policy: keras}"},
    {"precision": "{mode: mixed, compute_dtype: bfloat16, ops: {pointwise: half}}"},
    {"precision": "{mode: mixed, compute_dtype: bfloat16, ops: {residual: half}}"},
    {"model": "{kind: bert, preset: tiny, labels: 3, attention: fused}"},
    {"version": "2", "precision": "{mode: mixed, ops: {pointwise: compute}}"},
    {"version": None},
    {"name": "'../x'"},
    {"name": None},
    {"note": "1"},
    {"seed": "-1"},
    {"seed": "'1'"},
    {"model": "{kind: brt}"},
    {"model": "{kind: bert, preset: tiny, dropout: 1}"},
    {"model": "{kind: custom, factory: {}}"},
    {"model": "{kind: custom, factory: {torch: a.b}}"},
    {"data": "{source: npz, train: a}"},
    {"data": '{source: npz, train: a, eval: "\\n"}'},
    {"batch": "{micro_batch_size: 0}"},
    {"batch": "{micro_batch_size: 1, size: 2}"},
    {"precision": "{compute_dtype: fp16}"},
    {"loss_scaling": "{mode: static}"},
    {"loss_scaling": "{mode: dynamic, growth_factor: 1}"},
    {"clipping": "{kind: global_norm, max_norm: 0}"},
    {"optimizer": "{name: adam, learning_rate: 1, betas: [0.9, 1.0]}"},
    {"optimizer": "{name: adam, learning_rate: 1, betas: [0.9, 0.9, 0.9]}"},
    {"optimizer": "{name: adam, learning_rate: 1, no_decay: [bais]}"},
    {"optimizer": "{name: sgd, learning_rate: 1, eps: 1}"},
    {"schedule": "{total_steps: 0}"},
    {"schedule": None},
    {"distributed": "{strategy: ddp}"},
    {"overrides": "{torch: 1}"},
]


@pytest.mark.parametrize("changes", GOOD, ids=str)
def test_what_the_reader_takes_the_schema_takes(changes: dict[str, str | None]) -> None:
    text = text_of(**changes)
    assert problems_of(text) == ()
    assert errors(text) == []


@pytest.mark.parametrize("changes", BAD, ids=str)
def test_what_the_schema_refuses_the_reader_refuses(changes: dict[str, str | None]) -> None:
    text = text_of(**changes)
    assert problems_of(text) != ()
    assert errors(text) != []


def test_field_names_follow_the_tags() -> None:
    assert field_names((), {}) == list(Recipe.model_fields)
    assert "betas" in field_names(("optimizer",), {"optimizer": {"name": "adam"}})
    assert "betas" not in field_names(("optimizer",), {"optimizer": {"name": "sgd"}})
    assert field_names(("optimizer",), {"optimizer": {"name": ["sgd"]}}) == []
    assert field_names(("optimizer",), {"optimizer": 3}) == []
    assert field_names(("name", "x"), {"name": "toy"}) == []


def test_fields_are_described_by_their_docstrings_inherited_ones_too() -> None:
    definitions = recipe_schema()["$defs"]
    lion = definitions["Lion"]["properties"]
    assert lion["weight_decay"]["description"].startswith("Decoupled decay: w *")
    assert lion["no_decay"]["description"] == "Roles of parameters without weight decay."
    assert "description" not in definitions["NoClipping"]["properties"]["kind"]
