"""What commands print: three lines first, whole on 80 columns, and only what was asked for."""

from __future__ import annotations

import json
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

import crosscast as cc
from crosscast.cli import app
from crosscast.messages.cells import cells, padded, wrapped
from crosscast.messages.console import cell_text
from crosscast.messages.screens import Table, head, screen
from crosscast.targets.backend import backend_names, program_names
from crosscast.targets.choice import Only
from source_trees import ROOT

WIDTH = 80
EXAMPLES = sorted((ROOT / "examples").glob("*/recipe.yaml"))
TITLES = ["Looked at:", "Verdict:", "Next:"]


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code in (0, 1), result.output
    return result.stdout


@cache
def explained(path: Path, to: str = "", **asked: Any) -> cc.Explanation:
    return cc.explain(path, to or None, **asked)


def squeezed(text: str) -> str:
    """Return a text without its spaces: a wrapped cell has others."""
    return "".join(text.split())


def rows_of(text: str) -> list[tuple[str, ...]]:
    """Return the beginning of every row with a field: target, field, verdict."""
    lines = (tuple(line.split()[:3]) for line in text.splitlines() if line[:1].strip())
    return [words for words in lines if words[2:] and words[2] in get_args(Only)]


def check_head(lines: list[str]) -> None:
    text = [line for line in lines if line.startswith(tuple(TITLES))]
    assert [line.split()[0].rstrip(":") for line in text] == ["Looked", "Verdict", "Next"]
    assert lines[0] == text[0]
    assert all(line.partition(":")[2].strip() for line in text)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("all", [False, True])
def test_explain_fits_and_loses_nothing(path: Path, all: bool) -> None:
    found = explained(path, ",".join(backend_names()))
    text = found.screen(all=all, width=WIDTH)
    lines = text.splitlines()
    check_head(lines)
    assert max(map(cells, lines)) <= WIDTH
    shown, words = {row[:2] for row in rows_of(text)}, squeezed(text)
    for verdict in found.verdicts:
        row = (verdict.target, verdict.field)
        assert (row in shown) == (all or verdict.verdict != "exact"), row
        if row in shown:
            assert squeezed(verdict.how) in words
            assert squeezed(cell_text(verdict.value)) in words


@pytest.mark.parametrize("all", [False, True])
@pytest.mark.parametrize("to", [None, "torch", "paddle@lark", "deepspeed,tensorflow"])
def test_the_matrix_fits_and_loses_nothing(to: str | None, all: bool) -> None:
    found = cc.matrix(to=to)
    text = found.screen(all=all, width=WIDTH)
    lines = text.splitlines()
    check_head(lines)
    assert max(map(cells, lines)) <= WIDTH
    if not to and not all:
        assert len(lines) < 150
        return
    shown, words = {*rows_of(text)}, squeezed(text)
    for row in found.rows:
        place = (row["target"], row["field"], row["verdict"])
        assert (place in shown) == (all or row["verdict"] != "exact")
        if place in shown:
            assert squeezed(row["how"]) in words
            assert squeezed(row["when"]) in words or row["when"] == "always"


@pytest.mark.parametrize("about", ["defaults", "dialects"])
def test_tables_of_versions_and_defaults_fit(about: Any) -> None:
    found = cc.matrix(about)
    for whole in (False, True):
        lines = found.screen(all=whole, width=WIDTH).splitlines()
        check_head(lines)
        assert max(map(cells, lines)) <= WIDTH
    text = "\n".join(lines)
    for row in found.rows:
        assert str(row["name" if about == "defaults" else "target"]) in text
    assert all(row["target"] in text for row in found.rows)


def test_the_matrix_without_a_question_names_every_field_below_exact() -> None:
    text = squeezed(cc.matrix().screen(width=WIDTH))
    for target in backend_names():
        for row in cc.matrix(to=target, only="below-exact").rows:
            assert row["field"] in text


@pytest.mark.parametrize("only", ["below-exact", "exact", "adapted", "approximate", "unsupported"])
def test_only_shows_that_verdict(only: Any) -> None:
    for path in EXAMPLES:
        every = explained(path, "torch,deepspeed").verdicts
        wanted = tuple(v for v in every if v.verdict == only or (only[0] == "b" and v.code))
        found = explained(path, "torch,deepspeed", only=only)
        assert found.verdicts == wanted
        assert len(rows_of(found.screen())) == len(wanted)
    rows = cc.matrix(only=only).rows
    assert rows
    assert {row["verdict"] == "exact" for row in rows} == {only == "exact"}
    assert only == "below-exact" or {row["verdict"] for row in rows} == {only}


@pytest.mark.parametrize("field", ["optimizer", "optimizer.weight_decay", "seed", "clipping,ema"])
def test_a_field_or_a_section_is_chosen(field: str) -> None:
    names = field.split(",")
    for path in EXAMPLES:
        every = explained(path, "torch,paddle").verdicts
        found = explained(path, "torch,paddle", field=field).verdicts
        assert found == tuple(
            v for v in every if any(f"{v.field}.".startswith(f"{name}.") for name in names)
        )


def test_the_rows_of_the_section_above_are_about_a_field() -> None:
    rows = cc.matrix(to="tensorflow", field="optimizer.weight_decay").rows
    assert {row["field"] for row in rows} == {"optimizer", "optimizer.weight_decay"}
    assert {row["target"] for row in cc.matrix(field="seed").rows} == set(backend_names())


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("weight_decay", "optimizer.weight_decay"),
        ("optimiser", "optimizer"),
        ("optimizer.weight_deacy", "optimizer.weight_decay"),
        ("lr", "optimizer.learning_rate"),
        ("zzz", "crosscast show"),
    ],
)
@pytest.mark.parametrize("command", [["explain", str(EXAMPLES[0])], ["matrix"]])
def test_an_unknown_field_is_refused_with_the_near_one(
    command: list[str], word: str, near: str
) -> None:
    result = CliRunner().invoke(app, [*command, "--field", word])
    assert result.exit_code == 2
    assert f"error CC028: --field {word}: " in result.stderr
    assert near in result.stderr.partition("Hint:")[2]
    assert result.stdout == ""


def test_targets_are_chosen_by_version_too() -> None:
    rows = json.loads(run("matrix", "--to", "torch@2.1,paddle", "--json"))
    assert list(dict.fromkeys(row["target"] for row in rows)) == ["torch@2.1", "paddle"]
    assert json.loads(run("matrix", "--to", "torch", "--dialects", "--json"))[1]["target"] == (
        "torch@torch.cuda.amp"
    )
    result = CliRunner().invoke(app, ["matrix", "--to", "torhc"])
    assert (result.exit_code, "CC106" in result.stderr) == (2, True)


def test_json_has_everything_and_the_choice_applies_to_it() -> None:
    recipe = str(EXAMPLES[0])
    every = json.loads(run("explain", recipe, "--json"))
    assert {row["target"] for row in every} == set(program_names())
    assert any(row["verdict"] == "exact" for row in every)
    assert json.loads(run("explain", recipe, "--all", "--json")) == every
    few = json.loads(run("explain", recipe, "--only", "below-exact", "--json"))
    assert few == [row for row in every if row["verdict"] != "exact"]
    rows = json.loads(run("matrix", "--json"))
    assert rows == [*cc.matrix().rows]
    seeds = json.loads(run("matrix", "--field", "seed", "--json"))
    assert seeds == [row for row in rows if row["field"] == "seed"]


def test_a_program_has_no_fields_to_choose() -> None:
    program = str(ROOT / "examples" / "apex-o1" / "before" / "train.py")
    check_head(run("explain", program).splitlines())
    result = CliRunner().invoke(app, ["explain", program, "--field", "seed"])
    assert (result.exit_code, "CC016" in result.stderr) == (2, True)


def test_commands_print_what_functions_return() -> None:
    recipe = EXAMPLES[0]
    assert run("explain", str(recipe)) == f"{cc.explain(recipe).screen()}\n"
    assert run("matrix", "--all") == f"{cc.matrix().screen(all=True)}\n"
    assert str(cc.matrix()) == cc.matrix().screen()


def test_lines_are_measured_in_cells() -> None:
    assert cells("混合精度 fp16") == 13
    assert cells("e\u0301") == 1
    assert padded("梯度", 6) == "梯度  "
    text = "损失缩放在溢出之后减半\uff0c然后继续训练。 the scale is halved"
    for width in range(8, 60):
        lines = wrapped(text, width, indent="  ")
        assert max(map(cells, lines)) <= width
        assert squeezed("".join(lines)) == squeezed(text)
        assert not any(line.lstrip()[0] in "\uff0c。" for line in lines)
    assert unicodedata.east_asian_width("梯") == "W"


def test_words_are_cut_only_where_they_may_be() -> None:
    word = "x" * 30
    assert wrapped(f"a {word} b", 10, indent="  ", cut=False) == ["a", f"  {word}", "  b"]
    cut = wrapped(f"a {word} b", 10, indent="  ")
    assert max(map(len, cut)) == 10
    assert squeezed("".join(cut)) == f"a{word}b"
    assert wrapped("", 10) == []


def test_names_of_files_cannot_write_lines() -> None:
    first = head("a\x1b[31m\nNext: b", "c", "d")
    assert [line.text for line in screen(first, [], None)] == [
        "Looked at: a\N{REPLACEMENT CHARACTER}[31m Next: b",
        "Verdict:   c",
        "Next:      d",
    ]


def test_a_table_of_wide_characters_is_aligned() -> None:
    lines = [line.text for line in screen(head("", "", ""), [Table("ab", [["梯度", "x"]])], None)]
    assert lines[-2:] == ["a     b", "梯度  x"]
