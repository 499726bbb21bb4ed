"""Arithmetic on values of sources: bounded in size, and an error is no exception but nothing."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

MAX_BITS = 1023
"""Of an integer: each is kept below 2**1023, so that `float` of it does not overflow."""
MAX_LENGTH = 20_000


class NoValueError(Exception):
    """The operation has no value here."""


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
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: lambda a, b: a is b if _single(a) or _single(b) else a == b,
    ast.IsNot: lambda a, b: a is not b if _single(a) or _single(b) else a != b,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, MemoryError, RecursionError)

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
    return _checked(_ARITHMETIC[kind], left, right)


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
    return _checked(_COMPARE[kind], left, right)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (int, float, str, bool, len, max, min, round, abs, sum, tuple, list)},
    **{f"math.{n}": getattr(math, n) for n in ("sqrt", "log", "log2", "log10", "exp", "cos")},
    **{f"math.{n}": getattr(math, n) for n in ("ceil", "floor", "fabs", "gcd", "isinf", "isnan")},
    **{f"numpy.{n}": getattr(math, n) for n in ("sqrt", "log", "log2", "log10", "exp", "cos")},
    **{f"numpy.{n}": float for n in ("float32", "float64", "double")},
    **{f"numpy.{n}": int for n in ("int32", "int64")},
    **{f"numpy.{n}": getattr(math, n) for n in ("ceil", "floor")},
    "pow": lambda a, b: binary(ast.Pow, a, b),
    "math.pow": lambda a, b: float(binary(ast.Pow, float(a), float(b))),  # type: ignore[arg-type]
    "math.prod": lambda a: _product(a),
    "set": set,
    "sorted": sorted,
    "bool": bool,
}
_METHODS = frozenset(
    {
        *("lower", "upper", "strip", "lstrip", "rstrip", "split", "startswith", "endswith"),
        *("replace", "format", "title", "removeprefix", "removesuffix", "join", "index", "count"),
    }
)
CONVERSIONS = frozenset({"int", "float", "str", "bool", "numpy.float32", "numpy.int64", "list"})
"""Functions that leave a value what it is."""


def is_function(name: str) -> bool:
    """Whether `call` knows a function."""
    return name in _FUNCTIONS


def is_method(name: str) -> bool:
    """Whether `method` knows a method of texts."""
    return name in _METHODS


def call(name: str, arguments: Sequence[object]) -> object:
    """Return the result of a built-in function; raises like `binary`."""
    for argument in arguments:
        if isinstance(argument, str) and len(argument) > MAX_LENGTH:
            raise NoValueError
    return _checked(_FUNCTIONS[name], *arguments)


def method(text: object, name: str, arguments: Sequence[object]) -> object:
    """Return the result of a method of a text; raises like `binary`."""
    if not isinstance(text, str) or len(text) > MAX_LENGTH:
        raise NoValueError
    if name in ("format", "replace", "join"):
        plain = all(isinstance(a, str | int | float | list | tuple) for a in arguments)
        if not plain or (name == "format" and ":" in text) or len(text) > 500:
            raise NoValueError
    return _checked(getattr(text, name), *arguments)


def _checked(function: Callable[..., Any], *arguments: object) -> object:
    try:
        result = function(*arguments)
    except _ERRORS:
        raise NoValueError from None
    if isinstance(result, complex) or (isinstance(result, int) and result.bit_length() > MAX_BITS):
        raise NoValueError
    if isinstance(result, str | list | tuple) and len(result) > MAX_LENGTH:
        raise NoValueError
    return result


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
    elif kind is ast.Mod and isinstance(left, str):
        if len(left) > 500:
            raise NoValueError
        if any(c.isdigit() for c in left):  # a width could make it huge
            raise NoValueError
    elif kind is ast.Add and isinstance(left, str | list | tuple) and len(left) > MAX_LENGTH:
        raise NoValueError


def _bound_repeats(operand: object, times: object) -> None:
    repeated = isinstance(operand, str | list | tuple | bytes)
    if repeated and not (isinstance(times, int) and len(operand) * times <= MAX_LENGTH):  # type: ignore[arg-type]
        raise NoValueError


def _product(values: Sequence[Any]) -> object:
    result: object = 1
    for value in values:
        result = binary(ast.Mult, result, value)
    return result


def _single(value: object) -> bool:
    return value is None or isinstance(value, bool)
