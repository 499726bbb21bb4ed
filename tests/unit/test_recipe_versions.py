"""Version 1 of recipes keeps its meaning; version 2 says what operations store."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from crosscast.api.recipes import check
from crosscast.emit.compiler import compile_recipe
from crosscast.emit.frame import recipe_hash
from crosscast.messages.diagnostics import Severity
from crosscast.recipe.document import OpTypes, Recipe
from crosscast.recipe.load import load
from crosscast.recipe.policies import DEFAULT_POLICY, POLICIES
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.versions import as_written, said_in_version_1
from crosscast.recipe.yaml_source import parse
from crosscast.recipe.yaml_text import recipe_text
from recipe_texts import FLOAT16, found, mistakes, recipe_of, text_of

MIXED = "{mode: mixed, compute_dtype: bfloat16}"
FULL = "{mode: full, compute_dtype: bfloat16}"
NONE = "{mode: none}"
FUSED = "{kind: bert, preset: tiny, labels: 3, dropout: 0.0, attention: fused}"
ALL_FLOAT32 = (
    "{matmul: compute, pointwise: float32, reductions: float32, embeddings: float32, "
    "losses: float32}"
)
EXPLICIT = FUSED.replace("fused", "explicit")


def ops_of(recipe: Recipe) -> dict[str, Any]:
    return recipe.precision.ops.model_dump()


def again(recipe: Recipe) -> Recipe:
    return build_recipe(parse(recipe_text(recipe), "again.yaml"))


@pytest.mark.parametrize("precision", [MIXED, FULL, FLOAT16])
def test_version_1_computes_products_in_half_and_keeps_scores(precision: str) -> None:
    recipe = recipe_of(precision=precision)
    assert recipe.version == 2
    assert ops_of(recipe) == POLICIES["float32_stream"] == OpTypes().model_dump()
    assert recipe.precision.policy == "float32_stream"
    assert getattr(recipe.model, "attention", "") == "explicit"


@pytest.mark.parametrize("precision", [MIXED, FULL, FLOAT16])
def test_version_2_stores_half_and_no_scores(precision: str) -> None:
    recipe = recipe_of(version="2", precision=precision)
    assert recipe.precision.policy == DEFAULT_POLICY == "stored_half"
    assert ops_of(recipe) == POLICIES["stored_half"]
    assert getattr(recipe.model, "attention", "") == "fused"


def test_version_1_counts_residual_sums_among_pointwise_operations() -> None:
    ops = "{mode: mixed, compute_dtype: bfloat16, ops: {pointwise: compute}}"
    assert ops_of(recipe_of(precision=ops)) == {**POLICIES["autocast"], "residual": "half"}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_fills_in_what_ops_leaves_out(policy: str) -> None:
    start = f"{{mode: mixed, compute_dtype: bfloat16, policy: {policy}"
    assert ops_of(recipe_of(version="2", precision=start + "}")) == POLICIES[policy]
    more = start + ", ops: {losses: half, matmul: float32}}"
    expected = {**POLICIES[policy], "losses": "half", "matmul": "float32"}
    assert ops_of(recipe_of(version="2", precision=more)) == expected


def test_every_policy_says_every_class() -> None:
    assert {frozenset(policy) for policy in POLICIES.values()} == {frozenset(OpTypes.model_fields)}


CHOICES = ("compute", "float32")


@pytest.mark.parametrize("mode", ["mixed", "full"])
def test_what_version_1_says_is_written_in_it_again(mode: str) -> None:
    names = ("matmul", "pointwise", "reductions", "embeddings", "losses")
    for chosen in itertools.product(CHOICES, repeat=len(names)):
        ops = ", ".join(f"{name}: {word}" for name, word in zip(names, chosen, strict=True))
        precision = f"{{mode: {mode}, compute_dtype: bfloat16, ops: {{{ops}}}}}"
        recipe = recipe_of(precision=precision)
        data = as_written(recipe.model_dump())
        assert data["version"] == 1
        assert data["precision"]["ops"] == dict(zip(names, chosen, strict=True))
        assert again(recipe) == recipe


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("model", [FUSED, EXPLICIT])
@pytest.mark.parametrize("mode", ["none", "mixed", "full"])
def test_a_written_recipe_is_read_as_it_was(mode: str, model: str, policy: str) -> None:
    dtype = "float32" if mode == "none" else "float16"
    chosen = "" if mode == "none" else f", policy: {policy}"
    precision = f"{{mode: {mode}, compute_dtype: {dtype}{chosen}}}"
    recipe = recipe_of(version="2", precision=precision, model=model)
    assert again(recipe) == recipe
    assert said_in_version_1(recipe.model_dump()) == ("version: 1" in recipe_text(recipe))


def test_a_fingerprint_does_not_depend_on_the_version() -> None:
    stream = "{mode: mixed, compute_dtype: bfloat16, policy: float32_stream}"
    first = recipe_of(precision=MIXED)
    words = [
        recipe_of(version="2", model=EXPLICIT, precision=precision)
        for precision in (
            stream,
            stream.replace("float32_stream", "autocast, ops: {pointwise: float32}"),
        )
    ]
    assert {recipe_hash(recipe) for recipe in words} == {recipe_hash(first)}
    others = [
        recipe_of(version="2", precision=stream),
        recipe_of(version="2", model=EXPLICIT, precision=MIXED),
        recipe_of(version="2", precision=MIXED),
    ]
    assert len({recipe_hash(recipe) for recipe in (first, *others)}) == 4


@pytest.mark.parametrize("form", ["script", "step"])
def test_version_1_and_the_same_in_version_2_are_one_script(form: Any) -> None:
    stream = "{mode: mixed, compute_dtype: bfloat16, policy: float32_stream}"
    first = recipe_of(precision=MIXED)
    second = recipe_of(version="2", model=EXPLICIT, precision=stream)
    names = ["torch", "tensorflow", "paddle"]
    files = [
        [
            json.dumps({path: file.text for path, file in compiled.files.items()})
            for compiled in each
        ]
        for each in (compile_recipe(r, names, form=form) for r in (first, second))
    ]
    assert files[0] == files[1]


def test_a_step_does_not_depend_on_the_types_of_the_model() -> None:
    texts = [
        {path: file.text for path, file in compiled.files.items()}
        for recipe in (recipe_of(precision=MIXED), recipe_of(version="2", precision=MIXED))
        for compiled in compile_recipe(recipe, ["torch"], form="step")
    ]
    steps = [next(text for path, text in t.items() if path.endswith("step.py")) for t in texts]
    lines = [[x for x in step.splitlines() if "recipe" not in x] for step in steps]
    assert lines[0] == lines[1]


@pytest.mark.parametrize(("changes", "expected"), mistakes("versions"))
def test_what_a_version_does_not_have_is_refused(
    changes: dict[str, str], expected: tuple[str, str, str]
) -> None:
    assert expected in found(text_of(**changes))


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({}, "in version 2 attention keeps no scores, which saves memory"),
        ({"precision": "{mode: none}"}, "in version 2 attention keeps no scores"),
        ({"precision": FLOAT16}, "in version 2 operations store half precision and attention"),
        ({"precision": FULL}, "in version 2 operations store half precision and attention"),
        (
            {"precision": "{mode: mixed, compute_dtype: float16, ops: {pointwise: compute}}"},
            "in version 2 operations store half precision and attention",
        ),
        (
            {"precision": f"{{mode: mixed, compute_dtype: float16, ops: {ALL_FLOAT32}}}"},
            "in version 2 attention keeps no scores",
        ),
    ],
)
def test_check_says_what_version_2_would_mean(
    sections: dict[str, str], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "old.yaml"
    path.write_text(text_of(**sections))
    (note,) = check(path).diagnostics
    assert (note.code, note.path, note.severity) == ("CC221", "version", Severity.NOTE)
    assert note.message.startswith(said)
    # What the hint says keeps the meaning.
    data = parse(text_of(**sections | {"version": "2"}), "new.yaml").data
    for section, name, value in re.findall(r"(model|precision)\.(\w+): (\w+|{.*?})", note.hint):
        data.setdefault(section, {})[name] = parse(f"x: {value}", "value").data["x"]
    assert recipe_hash(build_recipe(parse(json.dumps(data), "new.yaml"))) == recipe_hash(
        load(str(path))
    )


@pytest.mark.parametrize(
    "text",
    [
        text_of(version="2", precision=FLOAT16),
        text_of(model="{kind: custom, factory: {torch: 'a:b'}}", precision=FLOAT16),
    ],
)
def test_check_says_nothing_where_the_versions_mean_the_same(text: str, tmp_path: Path) -> None:
    path = tmp_path / "same.yaml"
    path.write_text(text)
    assert "CC221" not in {found.code for found in check(path).diagnostics}
