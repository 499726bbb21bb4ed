"""Built-in functions, functions of `math`, and methods, on plain values within limits."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from crosscast_reading.pysource.values import arithmetic
from crosscast_reading.pysource.values.arithmetic import checked
from crosscast_reading.pysource.values.budget import (
    MAX_LENGTH,
    MAX_SIZE,
    NoValueError,
    measure,
)

_NO_NAMES: Mapping[str, object] = {}
_MOST_DIGITS = 400
"""Places of a rounded number: Python computes a power of ten for them."""
_LONGEST_PATTERN = 500
"""Of a text that others are put into."""


def _ordered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of something that has an order: that of a set differs between runs."""

    def of(*operands: object, **named: object) -> Any:
        if any(isinstance(operand, set) and len(operand) > 1 for operand in operands):
            raise NoValueError
        return function(*operands, **named)

    return of


def _text(*operands: object) -> str:
    measure(*operands, is_unknown=lambda part: not isinstance(part, int | float | None))
    if len(operands) != 1 or _holds_set(operands[0]):
        raise NoValueError
    return str(operands[0])


def _holds_set(value: object) -> bool:
    parts = value.values() if isinstance(value, dict) else value
    if isinstance(parts, str) or not hasattr(parts, "__iter__"):
        return False
    return isinstance(value, set) or any(map(_holds_set, parts))


def _round(number: Any, ndigits: object = None) -> object:
    if isinstance(ndigits, int) and abs(ndigits) > _MOST_DIGITS:
        raise NoValueError
    return round(number, ndigits)  # type: ignore[call-overload]


def _sum(values: Any, start: Any = 0) -> object:
    if not isinstance(start, list | tuple):
        return sum(values, start)
    total: object = start
    for value in values:  # lists may grow with every one
        total = arithmetic.binary(ast.Add, total, value)
    return total


def _product(values: Any, start: Any = 1) -> object:
    result = start
    for value in values:
        result = arithmetic.binary(ast.Mult, result, value)
    return result


def _power(base: object, exponent: object) -> object:
    return arithmetic.binary(ast.Pow, base, exponent)


def _float_power(base: Any, exponent: Any) -> object:
    return float(arithmetic.binary(ast.Pow, float(base), float(exponent)))  # type: ignore[arg-type]


_MATH = ("sqrt", "log", "log2", "log10", "exp", "cos")
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (int, float, bool, len, max, min, abs, set, sorted)},
    **{f.__name__: _ordered(f) for f in (tuple, list)},
    **{f"math.{n}": getattr(math, n) for n in (*_MATH, "ceil", "floor", "fabs", "gcd")},
    **{f"math.{n}": getattr(math, n) for n in ("isinf", "isnan")},
    **{f"numpy.{n}": getattr(math, n) for n in (*_MATH, "ceil", "floor")},
    **{f"numpy.{n}": float for n in ("float32", "float64", "double")},
    **{f"numpy.{n}": int for n in ("int32", "int64")},
    "str": _text,
    "round": _round,
    "sum": _sum,
    "pow": _power,
    "math.pow": _float_power,
    "math.prod": _product,
}
_NAMED = {
    "int": frozenset({"base"}),
    "max": frozenset({"default"}),
    "min": frozenset({"default"}),
    "sorted": frozenset({"reverse"}),
    "round": frozenset({"ndigits"}),
    "sum": frozenset({"start"}),
    "math.prod": frozenset({"start"}),
}
"""Arguments by name that are computed."""
_SHALLOW = frozenset({"len", "bool", "list", "tuple", "enumerate", "zip", "reversed"})
"""Functions for which it does not matter what the parts of a list or dictionary are."""
CONVERSIONS = frozenset({"int", "float", "str", "bool", "numpy.float32", "numpy.int64", "list"})
"""Functions that leave a value what it is."""
_OF_TEXTS = frozenset(
    {
        *("lower", "upper", "strip", "lstrip", "rstrip", "split", "startswith", "endswith"),
        *("replace", "format", "title", "removeprefix", "removesuffix", "join", "index", "count"),
    }
)
_OF_LISTS = frozenset(
    {"append", "extend", "insert", "pop", "remove", "reverse", "clear", "copy", "index", "count"}
)
_OF_DICTIONARIES = frozenset(
    {"get", "items", "keys", "values", "update", "pop", "setdefault", "clear", "copy"}
)
_OF_WHOLES = frozenset(
    {
        *("append", "extend", "insert", "pop", "reverse", "clear", "copy"),
        *("get", "items", "keys", "values", "update", "setdefault"),
    }
)
CHANGES = frozenset(
    {
        *("append", "extend", "insert", "pop", "remove", "reverse", "clear", "update"),
        *("setdefault", "sort", "popitem", "add", "discard"),
    }
)
"""Methods that change what they belong to."""


def is_function(name: str) -> bool:
    """Whether `call` knows a function."""
    return name in _FUNCTIONS


def is_shallow(name: str) -> bool:
    """Whether a function or method takes what it gets as a whole, whatever its parts are."""
    return name in _SHALLOW or name in _OF_WHOLES


def is_method(name: str) -> bool:
    """Whether `method` knows a method of texts."""
    return name in _OF_TEXTS


def call(name: str, given: Sequence[object], named: Mapping[str, object] = _NO_NAMES) -> object:
    """Return the result of a built-in function.

    Raises:
        NoValueError: it has none, or it would be large.
    """
    if not named.keys() <= _NAMED.get(name, frozenset()):
        raise NoValueError
    if name not in _SHALLOW:
        measure(given, tuple(named.values()))
    return checked(_FUNCTIONS[name], *given, **named)


def method(
    held: object, name: str, given: Sequence[object], named: Mapping[str, object] = _NO_NAMES
) -> object:
    """Return the result of a method of a text, list or dictionary, which it may change.

    The views of a dictionary are lists. What is derived from a list, an array, has other methods.

    Raises:
        NoValueError: it has none, or it would be large; nothing is changed then.
    """
    match held:
        case str() if name in _OF_TEXTS:
            _bound_text(held, name, given)
        case list() if name in _OF_LISTS and type(held) is list:
            added: Sequence[object] = given
            if name == "extend":
                given = [added := _listed(*given)]
            if len(held) + len(added) > MAX_LENGTH:
                raise NoValueError
        case dict() if name in _OF_DICTIONARIES:
            if len(held) >= MAX_LENGTH:
                raise NoValueError
        case _:
            raise NoValueError
    value = checked(getattr(held, name), *given, **_named(named, held, name))
    return list(value) if isinstance(held, dict) and name in ("items", "keys", "values") else value


def _named(named: Mapping[str, object], held: object, name: str) -> Mapping[str, object]:
    if named and not (name == "format" or (isinstance(held, dict) and name == "update")):
        raise NoValueError
    return named


def _listed(values: object = None, *others: object) -> list[object]:
    if others or not isinstance(values, list | tuple | dict | str):
        raise NoValueError
    return list(values)


def _bound_text(text: str, name: str, given: Sequence[object]) -> None:
    if len(text) > MAX_LENGTH:
        raise NoValueError
    if name in ("format", "replace", "join"):
        plain = all(isinstance(a, str | int | float | list | tuple) for a in given)
        if not plain or (name == "format" and ":" in text) or len(text) > _LONGEST_PATTERN:
            raise NoValueError
        measure(given)
    if name == "join":
        parts = list(chain.from_iterable(a for a in given if isinstance(a, list | tuple)))
        if len(parts) * len(text) > MAX_SIZE:
            raise NoValueError
