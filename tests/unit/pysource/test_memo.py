"""Look-ups that ask each other: what was found while a circle was cut off is not kept."""

from __future__ import annotations

import ast

from crosscast_reading.pysource.programs.memo import Memo, Progress

FIRST, SECOND = ast.Name("first"), ast.Name("second")


def test_a_circle_through_two_memos_is_cut_off_for_one_look_up_only() -> None:
    progress = Progress()
    asked: list[str] = []

    def of_first(node: ast.Name, where: str) -> str:
        asked.append(node.id)
        return f"({seconds.get(SECOND, where)} in the first)"

    def of_second(node: ast.Name, where: str) -> str:
        asked.append(node.id)
        return f"({firsts.get(FIRST, where)} in the second)"

    firsts: Memo[str, str] = Memo(of_first, lambda n, w: "cut", 10, progress)
    seconds: Memo[str, str] = Memo(of_second, lambda n, w: "cut", 10, progress)
    assert firsts.get(FIRST, "here") == "((cut in the second) in the first)"
    assert seconds.get(SECOND, "here") == "(((cut in the second) in the first) in the second)"
    assert progress.settled
    del asked[:]
    assert seconds.get(SECOND, "here") == "(((cut in the second) in the first) in the second)"
    assert asked == []


def test_what_no_circle_was_cut_in_is_kept_at_once() -> None:
    progress = Progress()
    asked: list[str] = []

    def leaf(node: ast.Name, where: str) -> str:
        asked.append(node.id)
        return where

    leaves: Memo[str, str] = Memo(leaf, lambda n, w: "cut", 10, progress)
    around: Memo[str, str] = Memo(
        lambda n, w: leaves.get(FIRST, w) + leaves.get(FIRST, w), lambda n, w: "cut", 10, progress
    )
    assert around.get(SECOND, "x") == "xx"
    assert leaves.get(FIRST, "x") == "x"
    assert asked == ["first"]


def test_what_came_from_a_provisional_answer_is_provisional() -> None:
    """The last asks the middle while that knows of the first only that it was cut off."""
    progress = Progress()
    first, middle, last = (ast.Name(name) for name in ("first", "middle", "last"))

    def of(node: ast.Name, where: str) -> str:
        asks = {"first": [middle, last], "middle": [first], "last": [middle]}[node.id]
        return f"{node.id}({', '.join(found.get(name, where) for name in asks)})"

    found: Memo[str, str] = Memo(of, lambda n, w: "cut", 10, progress)
    assert found.get(first, "here") == "first(middle(cut), last(middle(cut)))"
    assert found.get(last, "here") == "last(middle(first(middle(cut), last(middle(cut)))))"
