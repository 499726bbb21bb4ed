"""Whole numbers in shell arithmetic: `$((A * B))`, `expr A \\* B`."""

from __future__ import annotations

import re
from collections.abc import Callable

_TOKEN = re.compile(r"\d+|\$?\{?[A-Za-z_]\w*\}?|\*\*|<<|>>|<=|>=|==|!=|\+\+|--|\S", re.ASCII)
_NUMBER = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)
"""Not those with leading zeros: they are octal in bash, but not for `expr`."""
_NAME = re.compile(r"\$?\{?([A-Za-z_]\w*)\}?", re.ASCII)
_CHANGED = re.compile(
    r"(?:\+\+|--)\s*([A-Za-z_]\w*)|"
    r"(?<!\w)([A-Za-z_]\w*+)\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))"
)
_LEVELS = (("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"), ("*", "/", "%"), ("**",))
_LIMIT = 2**63


class _UnknownError(Exception):
    pass


def changed_in(text: str) -> list[str]:
    """Return the variables that an expression changes: `i++`, `n = 3`."""
    return ["".join(names) for names in _CHANGED.findall(text)]


def calculate(text: str, lookup: Callable[[str], int | None]) -> int | None:
    """Return the value of an expression, None if it is unknown or not understood.

    Args:
        text: the text between the parentheses.
        lookup: returns the number that a variable holds.
    """
    if len(text) > 400:
        return None
    try:
        value, rest = _level(_TOKEN.findall(text), 0, lookup)
    except (_UnknownError, IndexError, RecursionError):
        return None
    return value if not rest else None


def _level(
    tokens: list[str], level: int, lookup: Callable[[str], int | None]
) -> tuple[int, list[str]]:
    if level == len(_LEVELS):
        return _atom(tokens, lookup)
    value, rest = _level(tokens, level + 1, lookup)
    while rest and rest[0] in _LEVELS[level]:
        operator = rest[0]
        # 2 ** 3 ** 2 is 2 ** 9
        other, rest = _level(rest[1:], level + (operator != "**"), lookup)
        value = _apply(operator, value, other)
    return value, rest


def _atom(tokens: list[str], lookup: Callable[[str], int | None]) -> tuple[int, list[str]]:
    first, rest = tokens[0], tokens[1:]
    if first == "(":
        value, rest = _level(rest, 0, lookup)
        if rest[0] != ")":
            raise _UnknownError
        return value, rest[1:]
    if first in ("+", "-"):
        value, rest = _atom(rest, lookup)
        return (-value if first == "-" else value), rest
    if _NUMBER.fullmatch(first):
        return int(first), rest
    name = _NAME.fullmatch(first)
    number = lookup(name[1]) if name else None
    if number is None:
        raise _UnknownError
    return number, rest


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
