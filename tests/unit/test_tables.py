"""Tables as lines: nothing is cut, nothing is padded without need."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscast.messages.text_tables import layout

COLUMNS = ("target", "field", "code", "how")
HOW = "a sentence with many words that goes on and on until no terminal is wide enough for it"
ROWS = (("torch", "loss_scaling.growth_interval", "CC310", HOW), ("paddle", "ema", "", "as is"))


def test_in_a_pipe_a_row_is_a_line() -> None:
    table = layout(COLUMNS, ROWS, long=("how",))
    assert table.head == ("target  field                         code   how",)
    assert table.rows == (
        f"torch   loss_scaling.growth_interval  CC310  {HOW}",
        "paddle  ema                                  as is",
    )


def test_a_long_cell_pads_no_other_row() -> None:
    table = layout(("value", "how"), [("v" * 400, "one"), ("3", "two")], long=("value", "how"))
    assert table.rows[0] == f"{'v' * 400}  one"
    assert table.rows[1] == f"3{' ' * 41}two"


def test_a_terminal_that_is_wide_enough_has_one_line_a_row() -> None:
    assert layout(COLUMNS, ROWS, long=("how",), width=200) == layout(COLUMNS, ROWS, long=("how",))


def test_long_sentences_get_lines_of_their_own() -> None:
    table = layout(COLUMNS, ROWS, long=("how",), width=60)
    assert table.head == ("target  field                         code   how",)
    assert table.rows == (
        "torch   loss_scaling.growth_interval  CC310",
        "    a sentence with many words that goes on and on until no",
        "    terminal is wide enough for it",
        "paddle  ema                                  as is",
    )


def test_names_that_do_not_fit_go_on_in_the_next_line() -> None:
    table = layout(COLUMNS, ROWS, long=("how",), width=30)
    assert table.head == ("target", "    field", "    code   how")
    assert table.rows[:3] == ("torch", "    loss_scaling.growth_interval", "    CC310")
    assert table.rows[-3:] == ("paddle", "    ema", "           as is")


def test_a_long_cell_beside_sentences_does_not_push_them_off() -> None:
    rows = (("accumulation.steps", "1", "no accumulation in it"), ("model", "v" * 26, "FILL IN"))
    table = layout(("field", "value", "from"), rows, long=("from",), width=60)
    assert table.rows == (
        f"accumulation.steps  1{' ' * 17}no accumulation in it",
        f"model{' ' * 15}{'v' * 26}  FILL IN",
    )


def test_a_cell_of_many_words_is_wrapped() -> None:
    table = layout(("a", "b"), [("x", "[one, two, three, four, five, six]")], width=20)
    assert table.rows == ("x", "    [one, two,", "    three, four,", "    five, six]")


def test_no_rows_are_a_head() -> None:
    table = layout(("a", "b"), [], width=80)
    assert (table.head, table.rows) == (("a  b",), ())


WORDS = st.text("abc.@", min_size=1, max_size=30)
SENTENCES = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)


@given(
    st.lists(st.tuples(WORDS, WORDS, SENTENCES, WORDS, SENTENCES), min_size=1, max_size=5),
    st.integers(40, 150),
)
def test_everything_is_there_whatever_the_width(
    rows: list[tuple[str, str, str, str, str]], width: int
) -> None:
    columns = ("target", "field", "value", "code", "how")
    table = layout(columns, rows, long=("value", "how"), width=width)
    found = " ".join(table.rows).split()
    assert found == [word for row in rows for cell in row for word in cell.split()]
    assert " ".join(table.head).split() == list(columns)
    for line in (*table.head, *table.rows):
        assert line == line.rstrip()
        assert line.strip()
        assert len(line) <= width


@pytest.mark.parametrize("width", [1, 8, 9])
def test_names_are_never_cut_by_a_tiny_terminal(width: int) -> None:
    table = layout(COLUMNS, ROWS, long=("how",), width=width)
    assert "    loss_scaling.growth_interval" in table.rows
