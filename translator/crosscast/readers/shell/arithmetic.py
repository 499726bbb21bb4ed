"""Whole numbers in shell arithmetic: `$((A * B))`, `expr A \\* B`."""

from __future__ import annotations

import re
from collections.abc import Callable

_TOKEN = re.compile(r"\s*(?:(\d+)|(\$?\{?[A-Za-z_]\w*\}?)|(\*\*|<<|>>|<=|>=|==|!=|.))")
_LEVELS = (("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"), ("*", "/", "%"), ("**",))
_LIMIT = 2**63


class _UnknownError(Exception):
    pass


def calculate(text: str, lookup: Callable[[str], int | None]) -> int | None:
    """Return the value of an expression, None if it is unknown or not understood.

    Args:
        text: the text between the parentheses.
        lookup: returns the number that a variable holds.
    """
    if len(text) > 400:
        return None
    tokens = [m.group().strip() for m in _TOKEN.finditer(text) if m.group().strip()]
    try:
        value, rest = _level(tokens, 0, lookup, 0)
    except (_UnknownError, IndexError, RecursionError):
        return None
    return value if not rest else None


def _level(
    tokens: list[str], level: int, lookup: Callable[[str], int | None], depth: int
) -> tuple[int, list[str]]:
    if depth > 40:
        raise _UnknownError
    if level == len(_LEVELS):
        return _atom(tokens, lookup, depth)
    value, rest = _level(tokens, level + 1, lookup, depth)
    while rest and rest[0] in _LEVELS[level]:
        operator = rest[0]
        other, rest = _level(rest[1:], level + 1, lookup, depth)
        value = _apply(operator, value, other)
    return value, rest


def _atom(
    tokens: list[str], lookup: Callable[[str], int | None], depth: int
) -> tuple[int, list[str]]:
    first, rest = tokens[0], tokens[1:]
    if first == "(":
        value, rest = _level(rest, 0, lookup, depth + 1)
        if rest[0] != ")":
            raise _UnknownError
        return value, rest[1:]
    if first in ("+", "-"):
        value, rest = _atom(rest, lookup, depth + 1)
        return (-value if first == "-" else value), rest
    if first.isdigit():
        return int(first), rest
    name = first.strip("${}")
    found = lookup(name) if re.fullmatch(r"[A-Za-z_]\w*", name) else None
    if found is None:
        raise _UnknownError
    return found, rest


def _apply(operator: str, left: int, right: int) -> int:
    match operator:
        case "+":
            value = left + right
        case "-":
            value = left - right
        case "*":
            value = left * right
        case "/" | "%":
            if right == 0:
                raise _UnknownError
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            value = quotient if operator == "/" else left - right * quotient
        case "**" | "<<" | ">>":
            if not 0 <= right < 64:
                raise _UnknownError
            value = left**right if operator == "**" else left * 2**right
            value = left >> right if operator == ">>" else value
        case "==":
            value = int(left == right)
        case "!=":
            value = int(left != right)
        case "<":
            value = int(left < right)
        case ">":
            value = int(left > right)
        case "<=":
            value = int(left <= right)
        case _:
            value = int(left >= right)
    if abs(value) >= _LIMIT:
        raise _UnknownError
    return value
