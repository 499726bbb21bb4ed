"""Conditions of shell scripts that can be decided without running them."""

from __future__ import annotations

from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.truth import joined, negated
from crosscast_reading.readers.shell.text import Word, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from crosscast_reading.readers.shell.expand import Expander

_WORDS = frozenset(
    (
        *("string", "raw_string", "word", "number", "simple_expansion", "expansion"),
        *("concatenation", "extglob_pattern", "command_substitution", "arithmetic_expansion"),
    )
)
_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": eq,
    "-ne": ne,
    "-lt": lt,
    "-le": le,
    "-gt": gt,
    "-ge": ge,
}


def decide(node: Node, expander: Expander) -> bool | None:
    """Return the outcome of a condition, None if it is not known."""
    match node.type, node.children:
        case "negated_command", [_, inner]:
            return negated(decide(inner, expander))
        case "test_command", [_, inner, _]:
            return _test(inner, expander)
        case "command", children:
            return _simple([w for c in children for w in expander.words(c)])
    return None


def _test(node: Node, expander: Expander) -> bool | None:
    match node.type, node.children:
        case "parenthesized_expression", [_, inner, _]:
            return _test(inner, expander)
        case "unary_expression", [operator, operand]:
            if operator.type == "!":
                return negated(_test(operand, expander))
            return _emptiness(expander.text.of(operator), _text(operand, expander))
        case "binary_expression", [left, operator, right]:
            return _binary(expander.text.of(operator), left, right, expander)
    text = _text(node, expander)
    return None if text is None else bool(text)


def _binary(operator: str, left: Node, right: Node, expander: Expander) -> bool | None:
    if operator in ("&&", "||", "-a", "-o"):
        sides = [_test(side, expander) for side in (left, right)]
        return joined(sides, decisive=operator in ("||", "-o"))
    if any(mark in expander.text.of(right) for mark in "*?["):
        return None  # a pattern
    return _compare(operator, _text(left, expander), _text(right, expander))


def _simple(words: list[Word]) -> bool | None:
    """Return the outcome of `true`, `false` and `test`."""
    match [text_of(word) for word in words]:
        case ["true" | ":"]:
            return True
        case ["false"]:
            return False
        case ["test", str(operator), operand]:
            return _emptiness(operator, operand)
        case ["test", left, str(operator), right]:
            return _compare(operator, left, right)
    return None


def _text(node: Node, expander: Expander) -> str | None:
    return text_of(expander.word(node)) if node.type in _WORDS else None


def _emptiness(operator: str, text: str | None) -> bool | None:
    if text is None or operator not in ("-z", "-n"):
        return None
    return (text == "") is (operator == "-z")


def _compare(operator: str, left: str | None, right: str | None) -> bool | None:
    if left is None or right is None:
        return None
    if operator in ("=", "=="):
        return left == right
    if operator == "!=":
        return left != right
    try:
        return _NUMBERS[operator](int(left), int(right))
    except (KeyError, ValueError):
        return None
