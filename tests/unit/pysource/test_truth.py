"""Three-valued truth: every table of Kleene's logic, and conditions read from a source."""

from __future__ import annotations

import ast

import pytest

from crosscast_reading.pysource.syntax.truth import (
    is_combination,
    is_met,
    joined,
    negated,
    of_combination,
)

ANSWERS = {"yes": True, "no": False, "maybe": None}


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "yes and yes": True,
        "yes and no": False,
        "yes and maybe": None,
        "no and maybe": False,
        "maybe and maybe": None,
        "yes or maybe": True,
        "no or maybe": None,
        "no or no": False,
        "no or maybe or yes": True,
        "not yes": False,
        "not no": True,
        "not maybe": None,
        "not (yes and no)": True,
        "yes and not (no or maybe)": None,
    }.items(),
)
def test_conditions_of_a_source(text: str, expected: bool | None) -> None:
    assert _answer(ast.parse(text, mode="eval").body) is expected


def _answer(node: ast.expr) -> bool | None:
    if is_combination(node):
        return of_combination(node, _answer)
    assert isinstance(node, ast.Name)
    return ANSWERS[node.id]


@pytest.mark.parametrize("text", ["a", "-a", "~a", "a == b", "not_(a)", "a if b else c", "a & b"])
def test_what_is_no_combination(text: str) -> None:
    assert not is_combination(ast.parse(text, mode="eval").body)


def test_nothing_is_known_of_the_opposite_of_the_unknown() -> None:
    assert [negated(answer) for answer in (True, False, None)] == [False, True, None]
    assert [is_met(answer, False) for answer in (True, False, None)] == [False, True, None]
    assert [is_met(answer, True) for answer in (True, False, None)] == [True, False, None]


def test_the_decisive_answer_counts_more_than_the_unknown() -> None:
    assert joined([None, True], decisive=True) is True
    assert joined([None, False], decisive=True) is None
    assert joined([None, False], decisive=False) is False
    assert joined([None, True], decisive=False) is None
