"""Conditions of shell scripts that can be decided without running them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crosscast.pysource.syntax.truth import joined, negated
from crosscast.readers.shell.text import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from crosscast.readers.shell.expand import Expander

_NUMBERS = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}


def decide(node: Node, expander: Expander) -> bool | None:
    """Return the outcome of a condition, None if it is not known."""
    if node.type == "negated_command" and node.child_count == 2:
        return negated(decide(node.children[1], expander))
    if node.type == "test_command":
        inner = [c for c in node.children if c.is_named]
        return _test(inner[0], expander) if len(inner) == 1 else None
    if node.type == "command":
        return _simple(node, expander)
    return None


def _test(node: Node, expander: Expander) -> bool | None:
    children = node.children
    if node.type == "parenthesized_expression" and len(children) == 3:
        return _test(children[1], expander)
    if node.type == "unary_expression" and len(children) == 2:
        operator = expander.text.of(children[0])
        if operator == "!":
            return negated(_test(children[1], expander))
        return _emptiness(operator, _text(children[1], expander))
    if node.type == "binary_expression" and len(children) == 3:
        operator = expander.text.of(children[1])
        if operator in ("&&", "||", "-a", "-o"):
            sides = [_test(side, expander) for side in (children[0], children[2])]
            return joined(sides, decisive=operator in ("||", "-o"))
        pattern = operator in ("==", "=", "!=") and any(
            mark in expander.text.of(children[2]) for mark in "*?["
        )
        if pattern or operator in ("=~", "<", ">"):
            return None
        return _compare(operator, _text(children[0], expander), _text(children[2], expander))
    if node.type in ("string", "word", "simple_expansion", "expansion", "concatenation"):
        text = _text(node, expander)
        return None if text is None else bool(text)
    return None


def _simple(node: Node, expander: Expander) -> bool | None:
    """Return the outcome of `true`, `false` and `[ ... ]` read as a plain command."""
    words = [w for c in node.children for w in expander.words(c)]
    texts = [text_of(word) for word in words]
    if texts in (["true"], [":"]):
        return True
    if texts == ["false"]:
        return False
    if not texts or texts[0] not in ("[", "test") or any(text is None for text in texts):
        return None
    inside = [text for text in texts[1:] if text is not None]
    if inside and inside[-1] == "]":
        inside = inside[:-1]
    if len(inside) == 2:
        return _emptiness(inside[0], inside[1])
    return _compare(inside[1], inside[0], inside[2]) if len(inside) == 3 else None


def _text(node: Node, expander: Expander) -> str | None:
    return text_of(expander.word(node))


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
    test = _NUMBERS.get(operator)
    try:
        return test(int(left), int(right)) if test else None
    except ValueError:
        return None
