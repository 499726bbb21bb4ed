"""Hints for names and values of other tools: every row of the tables, and what must not match."""

from __future__ import annotations

import pytest

from crosscast.recipe.document import Recipe
from crosscast.recipe.near_misses import ANY, hint_of_value
from crosscast.recipe.other_vocabularies import KEYS, VALUES, Key, Value
from crosscast.recipe.schema import schema_at, variant_fields
from crosscast.recipe.suggestions import hint_for_value
from recipe_texts import FLOAT16, build, problems_of, text_of


def _hint_at(text: str, path: str) -> str:
    (hint,) = {problem.hint for problem in problems_of(text) if problem.path == path}
    return hint


def _written(text: str) -> None:
    """Build the toy recipe with a section that a hint says to write."""
    section, _, rest = text.replace("{value}", "0.5" if "ema" in text else "1").partition(": ")
    rest = rest.replace("{kind: bert", "{kind: bert, labels: 3")
    half = {} if section == "precision" else {"precision": FLOAT16}
    build(text_of(**half | {section: rest}))


def _sample(row: Key) -> str:
    return row.values.split()[0] if row.values else "7"


def test_every_key_of_another_tool_has_a_hint() -> None:
    files = "{source: npz, train: a.npz, eval: b.npz}"
    rows = {name: row for row in reversed(KEYS) if not row.within for name in row.names.split()}
    problems = problems_of(text_of(data=files, **{name: _sample(rows[name]) for name in rows}))
    hints = {problem.path: problem.hint for problem in problems}
    assert hints.keys() == rows.keys()
    for name, row in rows.items():
        wanted = row.write.replace("{value}", _sample(row)) or row.field
        assert (row.note if row.values else wanted) in hints[name]
        assert row.note[1:] in hints[name]


@pytest.mark.parametrize("row", [row for row in KEYS if row.within], ids=lambda row: row.within)
def test_every_key_within_a_section_has_a_hint(row: Key) -> None:
    for name in row.names.split():
        hints = [problem.hint for problem in problems_of(text_of(**{row.within: f"{{{name}: 7}}"}))]
        assert any(row.note[1:] in hint for hint in hints), hints


@pytest.mark.parametrize("row", VALUES, ids=lambda row: f"{row.field}-{row.words}")
def test_every_value_of_another_tool_has_a_hint(row: Value) -> None:
    section, _, leaf = row.field.partition(".")
    word = row.words.split()[0].replace(ANY, "7")
    other = {"schedule.name": ", total_steps: 9", "optimizer.name": ", learning_rate: 1"}
    other |= {"model.preset": ", kind: bert", "precision.compute_dtype": ", mode: mixed"}
    inside = f"{{{leaf}: {word}{other.get(row.field, '')}}}" if leaf else word
    hint = _hint_at(text_of(**{section: inside}), row.field)
    assert hint == hint_of_value(row, 7)
    assert hint
    for each in row.words.split():
        assert hint_for_value(tuple(row.field.split(".")), each, ()) == hint_of_value(row, each)


@pytest.mark.parametrize("row", [*KEYS, *VALUES], ids=lambda row: row.field)
def test_what_a_hint_says_exists(row: Key | Value) -> None:
    section, dot, leaf = row.field.partition(".")
    assert leaf in variant_fields(section) if dot else section in Recipe.model_fields
    assert row.tools
    if row.write:
        _written(row.write)
    if isinstance(row, Value) and row.value:
        kind = {"kind": "bert"} if leaf == "preset" else {}
        assert row.value in schema_at((section, leaf), {section: kind | {leaf: row.value}}).words
    assert not row.note.endswith(".")
    assert row.note.startswith(("DeepSpeed", "Keras")) or not row.note[:1].isupper()


def test_no_row_hides_another_row_or_a_field() -> None:
    keys = [(name, row.within, row.values) for row in KEYS for name in row.names.split()]
    assert len(set(keys)) == len(keys)
    values = [(row.field, word) for row in VALUES for word in row.words.split()]
    assert len(set(values)) == len(values)
    for name, within, _ in keys:
        assert name not in (variant_fields(within) if within else Recipe.model_fields)
    for field, word in values:
        section, dot, leaf = field.partition(".")
        assert not dot or word not in schema_at((section, leaf), {section: {}}).words
        assert word == word.lower().replace("-", "_")
    assert all(name == name.lower().replace("-", "_") for name, _, _ in keys)


@pytest.mark.parametrize(
    ("changes", "path", "hint"),
    [
        ({"model": "{kind: bert, preset: medium}"}, "model.preset", "write `model: {kind: bert, "
         "layers: 8, hidden_size: 512, attention_heads: 8, intermediate_size: 2048}`"),
        ({"fp16": "{enabled: true, loss_scale: 0}"}, "fp16",
         "write `precision: {mode: mixed, compute_dtype: float16}`"),
        ({"fp16": "{enabled: false}"}, "fp16", "leave it out: float32 is the default"),
        ({"bf16": "false"}, "bf16", "leave it out: float32 is the default"),
        ({"precision": "bf16-mixed"}, "precision",
         "write `precision: {mode: mixed, compute_dtype: bfloat16}`"),
        ({"amp": "O2"}, "amp", "write `precision: {mode: full, compute_dtype: float16}`"),
        ({"mixed_precision": "no"}, "mixed_precision", "write `precision: {mode: none}`"),
        ({"loss_scale": "0"}, "loss_scale", "write `loss_scaling: {mode: dynamic}`"),
        ({"loss_scale": "128"}, "loss_scale", "write `loss_scaling: {mode: static, scale: 128}`"),
        ({"max_grad_norm": "0"}, "max_grad_norm",
         "leave it out: there is no clipping by default"),
        ({"max-grad-norm": "1.0"}, "max-grad-norm",
         "write `clipping: {kind: global_norm, max_norm: 1.0}`"),
        ({"max_grad_norm": "2", "clipping": "{kind: global_norm, max_norm: 1}"}, "max_grad_norm",
         "did you mean clipping.max_norm?"),
        ({"clip_grad": "{max_norm: 2}"}, "clip_grad",
         "write `clipping: {kind: global_norm, max_norm: ...}`"),
        ({"clip_grad": f"{'x' * 41}"}, "clip_grad",
         "write `clipping: {kind: global_norm, max_norm: ...}`"),
        ({"weight_decay": "0.1", "optimizer": None}, "weight_decay",
         "did you mean optimizer.weight_decay?"),
        ({"lr_scheduler_type": "linear"}, "lr_scheduler_type", "did you mean schedule.name?"),
        ({"optim": "AdamW-Torch"}, "optim", "write `optimizer: {name: adamw}`"),
        ({"optimizer": "adamw_torch"}, "optimizer", "write `optimizer: {name: adamw}`"),
        ({"optimizer": "AdamW"}, "optimizer", "write `optimizer: {name: adamw}`"),
        ({"optimizer": "rmsprop"}, "optimizer",
         "a recipe has sgd, adam, adamw, lamb, lion and adafactor"),
        ({"model": "gpt2"}, "model", "the shipped model is BERT; write `model: {kind: custom, "
         "factory: {torch: package.module:function}}` for any other"),
        ({"model": "{type: BertModel}"}, "model.kind", "write `kind` for `type`; the shipped model "
         "is BERT; write `model: {kind: custom, factory: {torch: package.module:function}}` for "
         "any other"),
        ({"clipping": "1.0"}, "clipping", "write `clipping: {kind: global_norm, max_norm: 1.0}`"),
        ({"accumulation": "4"}, "accumulation", "write `accumulation: {steps: 4}`"),
    ],
    ids=str,
)  # fmt: skip
def test_hints(changes: dict[str, str | None], path: str, hint: str) -> None:
    assert _hint_at(text_of(**changes), path) == hint


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"colour": "red"}, "colour"),
        ({"fp17": "true"}, "fp17"),
        ({"type": "adamw"}, "type"),  # means the optimizer's name only inside that section
        ({"optimizer": "{name: sgd, learning_rate: 1, adam_beta1: 1}"}, "optimizer.adam_beta1"),
        ({"optimizer": "{name: sgd, learning_rate: 1, eps: 1}"}, "optimizer.eps"),
        ({"accumulation": "true"}, "accumulation"),
        ({"data": "[]"}, "data"),
        ({"seed": "fp16"}, "seed"),
        ({"optimizer": "{name: zzzz, learning_rate: 1}"}, "optimizer.name"),
    ],
    ids=str,
)
def test_what_must_not_match(changes: dict[str, str | None], path: str) -> None:
    hint = _hint_at(text_of(**changes), path)
    assert not hint or hint.startswith(("known fields: ", "only with "))


def test_words_of_other_tools_may_be_notes_and_names() -> None:
    assert problems_of(text_of(name="fp16", **{"x-fp16": "true", "x-lr": "{amp: O1}"})) == ()


def test_a_missing_field_is_not_reported_twice() -> None:
    text = text_of(optimizer="{name: adamw, lr: 1e-3}", schedule="{max_steps: 4}")
    assert [problem.code for problem in problems_of(text)] == ["CC101", "CC101"]


def test_tables_are_large_enough_to_be_worth_it() -> None:
    tools = {tool for row in (*KEYS, *VALUES) for tool in row.tools.split(", ")}
    assert tools >= {"Hugging Face", "DeepSpeed", "axolotl", "Lightning", "Keras", "Paddle"}
    assert tools >= {"timm", "torchtune", "fairseq", "Megatron", "apex", "Accelerate"}
