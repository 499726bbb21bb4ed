"""Python's operators on plain values: bounded in size, and an error is no exception but nothing."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from crosscast_reading.pysource.values.budget import (
    MAX_BITS,
    MAX_LENGTH,
    NoValueError,
    bounded,
    measure,
)

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Pow: operator.pow,
}
ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, MemoryError, RecursionError)
"""What an operation on values of unlike types or sizes may raise."""
_HOLDERS = (list, tuple, set, dict)
_LONGEST_PATTERN = 500
"""Of a text that others are put into."""

NUMBERS = {
    "math.inf": float("inf"),
    "math.pi": 3.141592653589793,
    "math.e": 2.718281828459045,
    "numpy.inf": float("inf"),
    "numpy.pi": 3.141592653589793,
    "torch.inf": float("inf"),
}
"""Numbers that libraries have names for."""


def binary(kind: type[ast.operator], left: object, right: object) -> object:
    """Return `left op right`.

    Raises:
        NoValueError: it has none, or it would be large.
    """
    if kind not in _ARITHMETIC:
        raise NoValueError
    _bound(kind, left, right)
    return checked(_ARITHMETIC[kind], left, right)


def unary(kind: type[ast.unaryop], value: object) -> object:
    """Return `op value`; raises like `binary`."""
    if kind is ast.Not:
        return not value
    if not isinstance(value, int | float):
        raise NoValueError
    if kind is ast.USub:
        return -value
    if kind is ast.UAdd:
        return +value
    if kind is ast.Invert and isinstance(value, int):
        return ~value
    raise NoValueError


def compare(kind: type[ast.cmpop], left: object, right: object) -> object:
    """Return `left op right` of a comparison; raises like `binary`."""
    if isinstance(left, _HOLDERS):
        measure(left, right)  # parts held many times would take for ever
    return checked(_COMPARE[kind], left, right)


def entry(base: Any, key: Any) -> object:
    """Return `base[key]` of a text, list, tuple or dictionary; raises like `binary`."""
    return checked(operator.getitem, base, key)


def checked(function: Callable[..., Any], *arguments: object, **named: object) -> Any:
    """Return the result of a function; raises like `binary`."""
    try:
        result = function(*arguments, **named)
    except ERRORS:
        raise NoValueError from None
    return bounded(result)


def _is_same(left: object, right: object) -> bool:
    """Whether values are one object; equal texts and numbers are taken for one, as written."""
    if left is right or left is None or right is None:
        return left is right
    if type(left) is not type(right) or isinstance(left, bool) or left != right:
        return False
    if isinstance(left, int | float | str):
        return True
    raise NoValueError


_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: _is_same,
    ast.IsNot: lambda a, b: not _is_same(a, b),
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


def _bound(kind: type[ast.operator], left: object, right: object) -> None:
    if kind is ast.Pow and isinstance(left, int) and isinstance(right, int):
        if abs(left).bit_length() * abs(right) > MAX_BITS:
            raise NoValueError
    elif kind is ast.LShift:
        if not isinstance(right, int) or not isinstance(left, int) or right > MAX_BITS:
            raise NoValueError
    elif kind is ast.Mult:
        _bound_repeats(left, right)
        _bound_repeats(right, left)
    elif kind is ast.Mod and isinstance(left, str | bytes):
        if isinstance(left, bytes) or len(left) > _LONGEST_PATTERN:
            raise NoValueError
        if any(c.isdigit() or c == "*" for c in left):  # a width could make it huge
            raise NoValueError
        measure(right)
    elif kind is ast.Add and isinstance(left, str | list | tuple) and len(left) > MAX_LENGTH:
        raise NoValueError


def _bound_repeats(operand: object, times: object) -> None:
    if not isinstance(operand, str | list | tuple | bytes):
        return
    if not isinstance(times, int) or len(operand) * times > MAX_LENGTH:
        raise NoValueError
