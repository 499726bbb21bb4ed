"""Texts with characters of two columns: tables stay aligned, lines stay short, marks stay below."""

from __future__ import annotations

import textwrap

import pytest

from crosscast.messages.cells import cells, padded, wrapped
from crosscast.messages.diagnostics import Diagnostic, Span, render
from crosscast.messages.text_tables import layout

MIXED = (
    "训练步以 float32 运行：`apply_gradients` 只检查无穷大（见 PyTorch 的文档），因此小梯度会下溢。"
)
COLUMNS = ("code", "title", "what")
ROWS = [("CL1", "梯度裁剪", MIXED), ("CL22", "x", "short")]


@pytest.mark.parametrize(
    ("text", "width"),
    [("", 0), ("abc", 3), ("é", 1), ("e\u0301", 1), ("梯度", 4), ("a，b", 4), ("…", 1), ("√", 1)],
)
def test_width(text: str, width: int) -> None:
    assert cells(text) == width
    assert cells(padded(text, 10)) == 10


@pytest.mark.parametrize("width", [12, 20, 33, 80, 200])
@pytest.mark.parametrize("indent", ["", "    "])
def test_no_line_is_too_long_and_nothing_is_lost(width: int, indent: str) -> None:
    lines = wrapped(MIXED, width, first=indent, indent=indent)
    assert all(cells(line) <= width for line in lines)
    assert all(line.startswith(indent) for line in lines)
    assert "".join("".join(lines).split()) == "".join(MIXED.split())


@pytest.mark.parametrize("width", [20, 33, 80])
def test_no_line_begins_with_a_closing_mark_or_ends_with_an_opening_one(width: int) -> None:
    lines = wrapped(MIXED, width)
    assert not [line for line in lines if line[0] in "，。：）、" or line[-1] in "（《"]


def test_words_are_not_cut_unless_they_must_be() -> None:
    assert wrapped("梯度 `apply_gradients`", 12, cut=False) == ["梯度", "`apply_gradients`"]
    assert wrapped("梯度 abcdefghijkl", 8) == ["梯度", "abcdefgh", "ijkl"]


@pytest.mark.parametrize("text", ["", "one two-three four", "x" * 30, "a é ü longer words here"])
def test_other_texts_are_wrapped_as_before(text: str) -> None:
    assert wrapped(text, 12) == textwrap.wrap(text, 12, break_on_hyphens=False)


def test_columns_are_aligned_in_a_pipe() -> None:
    table = layout(COLUMNS, ROWS, long=("what",))
    starts = [
        cells(line[: line.index(word)])
        for line, word in zip((*table.head, *table.rows), ("what", "训练步", "short"), strict=True)
    ]
    assert len(set(starts)) == 1


@pytest.mark.parametrize("width", [40, 60, 80])
def test_tables_fit_the_terminal(width: int) -> None:
    table = layout(COLUMNS, ROWS, long=("what",), width=width)
    assert all(cells(line) <= width for line in table.rows)
    assert "".join(MIXED.split()) in "".join("".join(table.rows).split())


def test_the_mark_stands_below_what_it_marks() -> None:
    line = 'print("损失缩放"); step()'
    column = line.index("step") + 1
    span = Span("f.py", 1, column, column + 4, line)
    _, text, marks = render([Diagnostic(code="CC006", message="m", span=span)]).splitlines()
    assert cells(text[: text.index("step")]) == marks.index("^")
    assert marks.count("^") == 4
    wide = Span("f.py", 1, 8, 12, line)
    marks = render([Diagnostic(code="CC006", message="m", span=wide)]).splitlines()[2]
    assert marks.count("^") == cells("损失缩放")
