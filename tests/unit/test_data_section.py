"""The section `data`: its sources, what contradicts them, its text and its fingerprint."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.emit.frame import recipe_hash
from crosscast.recipe.data import Data, PaddedData
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import parse
from crosscast.recipe.yaml_text import recipe_text
from crosscast_reading.readers.emitted.course import PADDED_SOURCES
from recipe_texts import build, found, mistakes, problems_of, recipe_of, text_of

ROOT = Path(__file__).resolve().parents[2]
CUSTOM = "{kind: custom, factory: {torch: 'a:b'}}"
OWN = {"model": CUSTOM}
FILES = "train: a, eval: b"
COUNTED = {"accumulation": "{normalize_by: token}"}


def padded(more: str, source: str = "parquet") -> str:
    return f"{{source: {source}, {FILES}, {more}}}"


GOOD: list[dict[str, str]] = [
    {"data": f"{{source: npz, {FILES}, workers: 4}}"},
    {"data": f"{{source: npy, {FILES}, sequence_length: 64}}"},
    {"data": padded("pad_to_multiple_of: 8, sequence_length: 128")},
    {"data": padded("pad_values: {input_ids: 2047, token_type_ids: 1, attention_mask: 0}")},
    {"data": f"{{source: datasets, {FILES}}}"},
    {"data": "{source: custom, train: 'rows:train', eval: 'rows:test'}"},
    {"data": "{source: synthetic, workers: 1024}"},
    {"data": f"{{source: images, {FILES}}}", **OWN},
    {"data": f"{{source: images, {FILES}, size: [32, 48], shuffle: false}}", **OWN},
    {"data": padded("pad_to_multiple_of: 65536, pad_values: {x: -1e18, y: 0.5}"), **OWN},
    {"data": padded("pad_values: {labels: 0}", "datasets"), **OWN, **COUNTED},
    {"data": padded("pad_values: {y: 1}"), "loss": "{kind: mse, target: z}", **OWN},
    {
        "data": "{source: custom, train: 'trains.a:b', eval: 'x.train:run', pad_values: {_: 1}}",
        **OWN,
    },
]


@pytest.mark.parametrize("changes", GOOD, ids=str)
def test_good_data_have_no_problems(changes: dict[str, str]) -> None:
    assert problems_of(text_of(**changes)) == ()


@pytest.mark.parametrize("changes", GOOD, ids=str)
def test_data_written_out_load_back_as_the_same(changes: dict[str, str]) -> None:
    recipe = recipe_of(**changes)
    text = recipe_text(recipe)
    assert build(text) == recipe
    assert recipe_text(build(text)) == text


@pytest.mark.parametrize(("changes", "problem"), mistakes("data"))
def test_bad_data_have_one_problem(changes: dict[str, str], problem: tuple[str, ...]) -> None:
    assert found(text_of(**changes)) == [problem]


@pytest.mark.parametrize(
    "data", [f"source: npz, {FILES}", "source: custom, train: 'a:b', eval: 'a:b'"]
)
def test_workers_are_not_in_the_fingerprint(data: str) -> None:
    """A run goes on from its checkpoint with any number of them."""
    few, many = (recipe_of(data=f"{{{data}, workers: {n}}}") for n in (0, 4))
    assert few != many
    assert recipe_hash(few) == recipe_hash(many) == recipe_hash(recipe_of(data=f"{{{data}}}"))
    shuffled = recipe_of(data=f"{{{data}, shuffle: false}}")
    assert recipe_hash(shuffled) != recipe_hash(few)


@pytest.mark.parametrize("changes", GOOD[1:4], ids=str)
def test_sources_and_padding_are_in_the_fingerprint(changes: dict[str, str]) -> None:
    assert recipe_hash(recipe_of(**changes)) != recipe_hash(recipe_of(data=padded("shuffle: true")))


# As they were before rows came from anything but npz.
FINGERPRINTS = {
    "apex-o1": "a9388fd82b81a316",
    "bert-small": "86b6c899a6952599",
    "data-parallel-from-scratch": "d884c11efb521bda",
    "paddle-xnli": "12c67d2021d8a1b1",
    "tf-graph-rewrite": "30250bcf7a9d6c88",
}


@pytest.mark.parametrize("example", FINGERPRINTS)
def test_old_recipes_keep_their_fingerprints(example: str) -> None:
    path = ROOT / "examples" / example / "recipe.yaml"
    text = path.read_text().replace("version: 2", "version: 1")
    recipe = build_recipe(parse(text, str(path)))
    assert recipe_hash(recipe) == FINGERPRINTS[example]


def settings_text(data: str, **more: str) -> dict[str, Any]:
    """Return the arguments of `Settings` in the script, by name."""
    (compiled,) = compile_recipe(recipe_of(data=data, **OWN, **more), ["torch"])
    text = compiled.files["train.py"].text
    (arguments,) = re.findall(r"^SETTINGS = Settings\((.*?)^\)", text, re.DOTALL | re.MULTILINE)
    return dict(
        re.findall(r"^    (\w+)=(.*?),\n(?=    \w|\Z)", arguments, re.DOTALL | re.MULTILINE)
    )


def test_what_a_script_is_told() -> None:
    told = settings_text(padded("pad_to_multiple_of: 8, pad_values: {x: 1, y: 0.5}, workers: 2"))
    assert told["source"] == '"parquet"'
    assert told["workers"] == "2"
    assert told["pad_to_multiple_of"] == "8"
    assert told["pad_values"] == '{"x": 1, "y": 0.5}'
    told = settings_text(f"{{source: images, {FILES}, size: [32, 48]}}")
    assert told["image_size"] == "(32, 48)"
    told = settings_text("{source: custom, train: 'a.b:c', eval: 'a.b:d'}")
    assert (told["train"], told["eval"]) == ("train_rows", "eval_rows")
    assert not {"workers", "pad_values", "pad_to_multiple_of"} & told.keys()


@pytest.mark.parametrize(
    ("source", "library"), [("parquet", "pyarrow"), ("datasets", "datasets"), ("images", "pillow")]
)
def test_requirements_name_the_library(source: str, library: str) -> None:
    recipe = recipe_of(data=f"{{source: {source}, {FILES}}}", **OWN)
    (compiled,) = compile_recipe(recipe, ["torch"])
    lines = compiled.files["requirements.txt"].text.splitlines()
    assert library in [re.split(r"[<>=]", line)[0] for line in lines]


def test_the_padded_sources_are_named_once() -> None:
    sources = get_args(get_args(Data)[0])
    padded_ones = {
        get_args(source.model_fields["source"].annotation)[0]
        for source in sources
        if issubclass(source, PaddedData)
    }
    assert set(PADDED_SOURCES) == padded_ones
