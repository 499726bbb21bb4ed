"""Answers are edits of the user's own file: what is not changed stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.fit.candidates import candidates, changed_recipe, changes
from crosscast.fit.editing import edited
from crosscast.recipe.yaml_text import recipe_text
from property_settings import examples
from recipe_strategies import recipes
from recipe_texts import BASE, build

HEAD = """# The run of March.
version: 1
name: toy   # keep
model: {kind: bert, preset: tiny, labels: 3, dropout: 0.0}
data: {source: synthetic}
optimizer: {name: adamw, learning_rate: 1e-3}
schedule: {name: linear, total_steps: 10}
"""


def answer(text: str, micro: int, *, checkpointing: bool = False, dtype: str = "float32") -> str:
    """The edited text of one candidate, which must be exactly that recipe."""
    recipe = build(text)
    (candidate,) = [
        variant
        for variant in candidates(recipe, precision=True)
        if variant.micro_batch_size == micro
        and (variant.checkpointing, variant.compute_dtype) == (checkpointing, dtype)
    ]
    wanted = changed_recipe(recipe, candidate)
    assert wanted is not None
    result = edited(text, changes(recipe, candidate), wanted, recipe_text)
    assert build(result) == wanted
    return result


BLOCK = "batch:\n  # rows\n  micro_batch_size: 4  # of one GPU\n  global_batch_size: 8\n"


def test_a_value_is_replaced_where_it_stands() -> None:
    text = HEAD + BLOCK
    wanted = text.replace("micro_batch_size: 4 ", "micro_batch_size: 2 ")
    assert answer(text, 2) == wanted
    assert answer(text.replace("\n", "\r\n"), 2) == wanted.replace("\n", "\r\n")


def test_both_numbers_of_a_split() -> None:
    text = f"{HEAD}batch: {{micro_batch_size: 4}}\naccumulation: {{steps: 2}} # why\n"
    wanted = text.replace("size: 4", "size: 1").replace("steps: 2", "steps: 8")
    assert answer(text, 1) == wanted


def test_what_the_file_does_not_say_is_added_only_where_it_must_be() -> None:
    text = f"{HEAD}batch: {{micro_batch_size: 8}}"  # steps would become 1
    assert answer(text, 2) == f"{HEAD}batch: {{micro_batch_size: 2}}\naccumulation: {{steps: 4}}\n"
    text = f"{HEAD}batch: {{global_batch_size: 8}}\naccumulation: {{steps: 1}}\n"
    assert answer(text, 2) == text.replace("{steps: 1}", "{steps: 4}")
    text = f"{HEAD}batch: {{micro_batch_size: 8}}\naccumulation: {{tail: drop}}\n"
    assert "accumulation: {steps: 4, tail: drop}" in answer(text, 2)
    text = f"{HEAD}batch:\n  micro_batch_size: 8\naccumulation:\n  # short ones\n  tail: drop\n"
    changed = answer(text, 2)
    assert changed.endswith("accumulation:\n  # short ones\n  steps: 4\n  tail: drop\n")


def test_fields_at_the_top() -> None:
    text = HEAD + BLOCK
    assert answer(text, 4, checkpointing=True) == f"{text}activation_checkpointing: true\n"
    text += "activation_checkpointing: false # slow\n"
    assert answer(text, 4, checkpointing=True) == text.replace("false", "true")
    half = answer(text, 4, dtype="bfloat16")
    assert half == f"{text}precision: {{mode: mixed, compute_dtype: bfloat16}}\n"
    scaled = answer(f"{text}loss_scaling: {{mode: none}}\n", 4, dtype="float16")
    assert "loss_scaling: {mode: dynamic}" in scaled
    assert "# slow" in scaled


def test_a_recipe_in_braces() -> None:
    fields = ", ".join(f"{name}: {value}" for name, value in BASE.items())
    changed = answer(f"{{{fields}}}\n", 4, checkpointing=True)
    assert changed == f"{{activation_checkpointing: true, {fields}}}\n"


@pytest.mark.parametrize("tail", ["...\n", "# end\n...\n"])
def test_where_there_is_no_place_the_recipe_is_written_out(tail: str) -> None:
    changed = answer(f"{HEAD}{BLOCK}{tail}", 4, checkpointing=True)
    assert changed.startswith("version: 1\n")
    assert "dropout: 0.0" in changed


@settings(max_examples=examples(30))
@given(recipes(), st.randoms(use_true_random=False))
def test_every_edit_is_the_recipe_that_was_wanted(recipe: object, random: object) -> None:
    text = recipe_text(recipe)
    loaded = build(text)
    every = list(candidates(loaded, precision=True))
    for candidate in random.sample(every, min(4, len(every))):  # type: ignore[attr-defined]
        wanted = changed_recipe(loaded, candidate)
        if wanted is not None:
            result = edited(text, changes(loaded, candidate), wanted, recipe_text)
            assert build(result) == wanted
