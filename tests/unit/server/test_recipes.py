"""What an editor learns about an open recipe."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast.server.recipes import completions, hover, is_recipe, meant, path_at, read
from recipe_texts import text_of


def source(text: str, name: str = "recipe.yaml") -> Source:
    return Source(name, text)


def words(text: str) -> list[str]:
    """Return what may be written at the `|` of a text."""
    before, _, after = text.partition("|")
    lines = before.splitlines() or [""]
    if before.endswith("\n"):
        lines.append("")
    found = completions(source(before + after), len(lines), len(lines[-1]) + 1)
    return [completion.word for completion in found]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("recipe.yaml", text_of(), True),
        ("a.yml", "version: 1\noptimizer:\n", True),
        ("docker-compose.yaml", "version: '3'\nservices:\n  web: {}\n", False),
        ("config.yaml", "optimizer: {name: sgd}\n", False),
        ("train.py", text_of(), False),
    ],
)
def test_which_documents_are_recipes(name: str, text: str, expected: bool) -> None:
    assert is_recipe(source(text, name)) is expected


def test_a_correct_recipe_has_no_errors() -> None:
    found = read(source(text_of()))
    assert found.loaded is not None
    assert [p for p in found.problems if p.severity == "error"] == []


def test_all_errors_have_a_place_and_a_word_that_was_meant() -> None:
    text = text_of().replace("optimizer: {", "optimizer: {lr: 1, ")
    found = read(source(text))
    problem = next(p for p in found.problems if p.code == "CC101")
    assert problem.span is not None
    assert problem.span.text[problem.span.column - 1 :].startswith("lr")
    assert meant(problem) == "learning_rate"
    assert meant(read(source("version: 1\nmodel: {")).problems[0]) == ""


def test_a_field_of_another_section_is_not_written_here() -> None:
    found = read(source("version: 1\nlr: 0.1\noptimizer: {name: adamw, lr: 0.1}\n")).problems
    assert {p.path: meant(p) for p in found if p.code == "CC101"} == {
        "lr": "",
        "optimizer.lr": "learning_rate",
    }


def test_what_a_framework_cannot_do_is_a_note_at_its_field() -> None:
    text = text_of() + "distributed: {parameters: sharded, processes: 2}\n"
    notes = [p for p in read(source(text)).problems if p.severity == "note"]
    assert all(note.span is not None for note in notes)


def test_hover_says_meaning_values_and_verdicts() -> None:
    text = text_of()
    row = next(n for n, line in enumerate(text.splitlines(), 1) if line.startswith("optimizer"))
    column = text.splitlines()[row - 1].index("name") + 2
    told = hover(read(source(text)), row, column)
    assert told.startswith("**optimizer.name**")
    assert "`adamw`" in told
    assert "`lion`" in told
    assert "- tensorflow: " in told
    assert hover(read(source(text)), 999, 1) == ""


def test_hover_in_a_recipe_with_errors_has_no_verdicts() -> None:
    told = hover(read(source("version: 1\nprecision: {compute_dtype: fp16}\n")), 2, 15)
    assert "`float16`" in told
    assert "torch:" not in told


def test_the_innermost_path_is_meant() -> None:
    document = read(source("version: 1\nbatch: {micro_batch_size: 8}\n")).document
    assert document is not None
    assert path_at(document, 2, 10) == ("batch", "micro_batch_size")
    assert path_at(document, 2, 2) == ("batch",)
    assert path_at(document, 1, 12) is None


@pytest.mark.parametrize(
    ("text", "some", "without"),
    [
        ("version: 1\n|", {"model", "optimizer"}, {"version", "kind"}),
        ("version: 1\nmodel: {|", {"kind"}, {"optimizer"}),
        ("version: 1\nmodel: {kind: |", {"bert", "custom"}, {"kind"}),
        ("version: 1\nmodel: {kind: b|", {"bert", "custom"}, {"kind"}),
        ("version: 1\nmodel:\n  kind: bert\n  |", {"preset", "layers"}, {"kind", "factory"}),
        ("version: 1\nmodel:\n  kind: custom\n  |", {"factory"}, {"preset"}),
        ("version: 1\nmodel: {kind: bert, |", {"preset", "labels"}, {"kind", "factory"}),
        ("version: 1\nprecision:\n  compute_dtype: |", {"float16", "bfloat16"}, {"mode"}),
        ("version: 1\noptimizer: {name: adamw, |", {"betas", "eps"}, {"momentum", "name"}),
        ("version: 1\noptimizer: {name: sgd, |", {"momentum"}, {"betas", "name"}),
        ("version: 1\nprecision:\n  ops:\n    matmul: |", {"compute", "float32"}, {"half"}),
        ("version: 2\nprecision:\n  ops:\n    matmul: |", {"half", "float32"}, {"compute"}),
        ("version: 1\nprecision:\n  |", {"ops", "mode"}, {"policy"}),
        ("version: 2\nprecision:\n  |", {"ops", "policy"}, {"kind"}),
        ("version: 1\nbatch: {micro_batch_size: 8}\n|", {"model"}, {"batch", "micro_batch_size"}),
        ("version: 1  # |", set(), {"model"}),
        ("version: 1\nname: |", set(), {"model"}),
        ("version: 1\nunknown:\n  |", set(), {"model"}),
    ],
)
def test_completions(text: str, some: set[str], without: set[str]) -> None:
    found = words(text)
    assert some <= set(found)
    assert not without & set(found)
    assert some or found == []
