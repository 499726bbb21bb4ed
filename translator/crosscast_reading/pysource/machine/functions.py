"""Functions of `math`, NumPy and the frameworks on numbers and arrays of numbers."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from crosscast_reading.pysource.values import arithmetic, builtins
from crosscast_reading.pysource.values.arithmetic import checked
from crosscast_reading.pysource.values.budget import MAX_LENGTH, NoValueError

LIBRARIES = frozenset({"math", "numpy", "torch", "tensorflow", "paddle", "jax"})
"""Packages whose functions of numbers all mean the same."""


class Array(list[Any]):
    """A one-dimensional array of numbers: arithmetic on it is element by element."""


def each(function: Callable[..., Any], *operands: object) -> object:
    """Return a function of operands, element by element if any is an array.

    Raises:
        NoValueError: arrays differ in length, or an element has no value.
    """
    if not any(operand.__class__ is Array for operand in operands):
        return checked(function, *operands)
    lengths = {len(operand) for operand in operands if isinstance(operand, Array)}
    if len(lengths) > 1:
        raise NoValueError
    count = lengths.pop()
    columns = [o if isinstance(o, Array) else [o] * count for o in operands]
    return Array(_rows(function, zip(*columns, strict=True)))


def _rows(function: Callable[..., Any], rows: Iterable[tuple[object, ...]]) -> list[Any]:
    try:
        return [function(*row) for row in rows]
    except arithmetic.ERRORS:
        raise NoValueError from None


def _elementwise(function: Callable[..., Any]) -> Callable[..., object]:
    return lambda *operands, **_: each(function, *map(_numbers, operands))


def _numbers(value: object) -> object:
    """Return a list of numbers as the array that libraries make of it."""
    return _array(value) if isinstance(value, list | tuple) else value


def _size(count: object) -> int:
    if not isinstance(count, int | float) or not 0 <= count <= MAX_LENGTH:
        raise NoValueError
    return int(count)


def _array(values: object, *_: object, **__: object) -> object:
    if isinstance(values, int | float):
        return values
    if not isinstance(values, list | tuple) or len(values) > MAX_LENGTH:
        raise NoValueError
    if not all(isinstance(value, int | float) for value in values):
        raise NoValueError
    return Array(values)


def _linspace(start: Any, end: Any, num: object = 50, **named: object) -> Array:
    count = _size(named.get("steps", num))
    last = max(count - 1, 1) if named.get("endpoint", True) else max(count, 1)
    return Array(start + (end - start) * place / last for place in range(count))


def _arange(*bounds: Any, **_: object) -> Array:
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    count = _size(max(0, math.ceil(checked(lambda: (stop - start) / step))))
    return Array(start + step * place for place in range(count))


def _range(*bounds: object) -> list[int]:
    if not all(isinstance(bound, int) for bound in bounds):
        raise NoValueError
    numbers = checked(range, *bounds)
    if checked(len, numbers) > MAX_LENGTH:
        raise NoValueError
    return list(numbers)


def _join(parts: object, *_: object, **__: object) -> Array:
    if not isinstance(parts, list | tuple):
        raise NoValueError
    array = Array()
    for part in parts:
        if not isinstance(part, list) or len(array) + len(part) > MAX_LENGTH:
            raise NoValueError
        array.extend(part)
    return array


def _filled(value: object) -> Callable[..., Array]:
    return lambda count, *_, **__: Array([value] * _size(count))


def _clip(value: object, low: Any = None, high: Any = None, **named: Any) -> object:
    low = named.get("min", named.get("a_min", named.get("clip_value_min", low)))
    high = named.get("max", named.get("a_max", named.get("clip_value_max", high)))

    def bounded(number: Any) -> Any:
        number = number if low is None else max(low, number)
        return number if high is None else min(high, number)

    return each(bounded, value)


def _interp(value: object, xs: Any, ys: Any, *_: object, **__: object) -> object:
    if not isinstance(xs, list | tuple) or not isinstance(ys, list | tuple) or len(xs) != len(ys):
        raise NoValueError

    def at(x: Any) -> Any:
        if x <= xs[0]:
            return ys[0]
        for (left, low), (right, high) in zip(
            zip(xs, ys, strict=True), zip(xs[1:], ys[1:], strict=True), strict=False
        ):
            if left <= x <= right:
                return low + (high - low) * (x - left) / (right - left) if right > left else high
        return ys[-1]

    return each(at, _numbers(value))


def _same(value: object, *_: object, **__: object) -> object:
    return value


def _built_in(name: str) -> Callable[..., object]:
    return lambda *operands, **named: builtins.call(name, operands, named)


def _built_in_of_each(name: str) -> Callable[..., object]:
    def of(*operands: object, **named: object) -> object:
        return each(lambda *row: builtins.call(name, row, named), *operands)

    return of


def _bisect_right(values: Any, x: Any, *_: object, **__: object) -> object:
    if not isinstance(values, list | tuple):
        raise NoValueError
    return checked(lambda: sum(1 for value in values if value <= x))


def _bisect_left(values: Any, x: Any, *_: object, **__: object) -> object:
    if not isinstance(values, list | tuple):
        raise NoValueError
    return checked(lambda: sum(1 for value in values if value < x))


_NUMERIC: dict[str, Callable[..., object]] = {
    **{
        name: _elementwise(getattr(math, name))
        for name in ("cos", "sin", "tanh", "exp", "log", "log2", "log10", "sqrt", "ceil", "floor")
    },
    **{name: _elementwise(min) for name in ("minimum", "fmin", "elementwise_min")},
    **{name: _elementwise(max) for name in ("maximum", "fmax", "elementwise_max")},
    **dict.fromkeys(("array", "asarray", "tensor", "constant", "convert_to_tensor"), _array),
    **dict.fromkeys(("cast", "to_tensor", "identity", "stop_gradient", "Tensor"), _same),
    **dict.fromkeys(("concatenate", "cat", "hstack", "concat"), _join),
    **dict.fromkeys(("clip", "clamp", "clip_by_value"), _clip),
    "rsqrt": _elementwise(lambda a: a**-0.5),
    **{
        name: _elementwise(lambda a, b: arithmetic.binary(ast.Pow, a, b))
        for name in ("pow", "power", "elementwise_pow")
    },
    **{name: _elementwise(float) for name in ("float32", "float64", "double", "to_float")},
    **{name: _elementwise(int) for name in ("int32", "int64")},
    "abs": _elementwise(abs),
    "fabs": _elementwise(abs),
    "where": _elementwise(lambda test, yes, no: yes if test else no),
    "linspace": _linspace,
    "arange": _arange,
    "interp": _interp,
    "zeros": _filled(0.0),
    "ones": _filled(1.0),
    "full": lambda count, value, *_, **__: Array([value] * _size(count)),
    "append": lambda first, second, *_, **__: _join(
        [first, second if isinstance(second, list) else [second]]
    ),
}
"""Functions by their last name, as the packages of `LIBRARIES` have them."""
_WHOLE = ("len", "min", "max", "sum", "sorted", "list", "tuple", "bool", "str", "pow", "math.prod")
_BUILT_IN: dict[str, Callable[..., object]] = {
    **{name: _built_in(name) for name in _WHOLE},
    **{name: _built_in_of_each(name) for name in ("int", "float", "round", "abs")},
    "any": lambda values: any(_listed(list, values)),
    "all": lambda values: all(_listed(list, values)),
    "range": _range,
    "enumerate": lambda values, start=0: _listed(
        lambda elements: enumerate(elements, start), values
    ),
    "zip": lambda *values, strict=False: _listed(
        lambda *columns: zip(*columns, strict=strict), *values
    ),
    "reversed": lambda values: _listed(reversed, values),
    "bisect.bisect": _bisect_right,
    "bisect.bisect_right": _bisect_right,
    "bisect.bisect_left": _bisect_left,
}


def _listed(function: Callable[..., Any], *values: object) -> list[Any]:
    if not all(isinstance(value, list | tuple | str | dict) for value in values):
        raise NoValueError
    return list(function(*values))


def function_named(name: str) -> Callable[..., object] | None:
    """Return the function that a qualified name stands for; None if it is not known."""
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    package, _, rest = name.partition(".")
    return _NUMERIC.get(rest.rpartition(".")[2]) if package in LIBRARIES and rest else None


def call(function: Callable[..., object], given: Sequence[object], named: dict[str, Any]) -> object:
    """Return the result of such a function.

    Raises:
        NoValueError: it has none for these arguments, or it would be large.
    """
    return checked(function, *given, **named)
