"""Convert judgements to plain data and back, validating untrusted input."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar, get_args

from crosscast_parity.checks.check import Check, Result, json_number
from crosscast_parity.checks.kinds import LEVELS
from crosscast_parity.judge.records import FieldExercise, TensorErrors

NOT_FINITE = ("inf", "-inf", "nan")
Checks = tuple[Check, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """How a result is written as plain data, and read.

    `read` raises ValueError, KeyError, TypeError or AttributeError for what `write` never gives.
    """

    write: Callable[[T], Any]
    read: Callable[[Any], T]


def _write_checks(checks: Checks) -> Any:
    return [check.to_json() for check in checks]


def _read_checks(data: Any) -> Checks:
    return tuple(_check(entry) for entry in _checked(list, data))


def _check(data: Any) -> Check:
    _check_keys(data, Check)
    if data["level"] not in LEVELS or data["result"] not in get_args(Result):
        raise ValueError("level or result")
    window = data["window"]
    if window is not None and (type(window) is not int or window < 0):
        raise ValueError("window")
    return Check(
        level=data["level"],
        name=_checked(str, data["name"]),
        result=data["result"],
        wording=_checked(str, data["wording"]),
        value=None if data["value"] is None else _number(data["value"]),
        limit=None if data["limit"] is None else _number(data["limit"]),
        window=window,
        stage=_checked(str, data["stage"]),
        run=_checked(str, data["run"]),
    )


def _write_compared(result: tuple[Checks, TensorErrors]) -> Any:
    checks, errors = result
    return [_write_checks(checks), [[name, json_number(size)] for name, size in errors.items()]]


def _read_compared(data: Any) -> tuple[Checks, TensorErrors]:
    checks, errors = _checked(list, data)
    return _read_checks(checks), {_checked(str, name): _number(size) for name, size in errors}


def _write_fields(entries: tuple[FieldExercise, ...]) -> Any:
    return [diagnostic.to_json() for diagnostic in entries]


def _read_fields(data: Any) -> tuple[FieldExercise, ...]:
    return tuple(_field(entry) for entry in _checked(list, data))


def _field(data: Any) -> FieldExercise:
    _check_keys(data, FieldExercise)
    return FieldExercise(
        field=_checked(str, data["field"]),
        exercised=_checked(bool, data["exercised"]),
        why=_checked(str, data["why"]),
    )


def _check_keys(data: Any, kind: type[Any]) -> None:
    if _checked(dict, data).keys() != {field.name for field in fields(kind)}:
        raise ValueError(kind.__name__)


def _checked(kind: type[T], value: Any) -> T:
    if type(value) is not kind:
        raise TypeError(kind.__name__)
    return value


def _number(value: Any) -> float:
    """Return a number as it was written: whole ones stay whole."""
    if value in NOT_FINITE:
        return float(value)
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError("number")
    number: float = value
    return number


CHECKS = Kind(_write_checks, _read_checks)
COMPARED = Kind(_write_compared, _read_compared)
FIELDS = Kind(_write_fields, _read_fields)
