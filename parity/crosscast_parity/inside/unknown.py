"""Values that are not known, because a statement that would have made them was skipped."""

from __future__ import annotations

from types import FunctionType, ModuleType, NoneType
from typing import Any


class NotKnownError(Exception):
    """Something asked for a value that is not known."""


class _Absent(int):
    """False, as the answer whether a path exists: it may, where the program's data is."""

    def __repr__(self) -> str:
        return "False"


ABSENT = _Absent()


class CrosscastUnknown:
    """A value that is not known, as are its attributes and what is computed with it."""

    def __init__(self, *args: Any) -> None:
        """Take anything: a class that derives from an unknown one is made by its class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __setattr__(self, name: str, value: Any) -> None: ...

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def __repr__(self) -> str:
        return "<CrosscastUnknown>"

    def __format__(self, how: str) -> str:
        return repr(self)

    def __hash__(self) -> int:
        return id(self)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None: ...


def _itself(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self


def _refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise NotKnownError("a value that is not known")


_OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
for _name in ("call getitem neg pos abs invert lt le gt ge eq ne " + _OPERATORS).split():
    setattr(CrosscastUnknown, f"__{_name}__", _itself)
for _name in _OPERATORS.split():
    setattr(CrosscastUnknown, f"__r{_name}__", _itself)
_VALUES = "bool iter len int float index contains complex array fspath"
for _name in _VALUES.split():
    setattr(CrosscastUnknown, f"__{_name}__", _refuse)

UNKNOWN = CrosscastUnknown()
_CHANGED: dict[int, object] = {}
"""Containers and other objects that a skipped statement may have changed, and that stay."""
_UNCHANGING = (ModuleType, type, FunctionType, str, int, float, tuple, NoneType)


def is_known(value: object, depth: int = 2) -> bool:
    """Whether a value is not unknown and, as far as a look into it tells, holds none."""
    if isinstance(value, CrosscastUnknown | _Absent) or id(value) in _CHANGED:
        return False
    if not depth:
        return True
    if isinstance(value, dict):
        inner: list[Any] = [*list(value)[:1000], *list(value.values())[:1000]]
    elif isinstance(value, list | tuple | set | frozenset):
        inner = list(value)[:1000]
    else:
        own = getattr(value, "__dict__", None) if not isinstance(value, type) else None
        inner = list(own.values())[:1000] if isinstance(own, dict) and "__spec__" not in own else []
    return all(is_known(each, depth - 1) for each in inner)


def taint(value: object) -> None:
    """Let a container count as unknown: a statement that reads it may have changed it.

    One that has no entry yet is likely to be filled. Another keeps its length: it is likely to be
    the names of classes, say, of which a layer has as many units.
    """
    if type(value) not in (list, set, dict):
        return
    if value:
        _CHANGED[id(value)] = value
    elif isinstance(value, list):
        value.append(UNKNOWN)
    elif isinstance(value, set):
        value.add(UNKNOWN)
    elif isinstance(value, dict):
        value[UNKNOWN] = UNKNOWN


def forget(value: object) -> None:
    """Make an object unknown wherever it is referred to, or else remember it as changed."""
    if isinstance(value, _UNCHANGING):
        return
    try:
        object.__setattr__(value, "__class__", CrosscastUnknown)
    except TypeError:  # it is made otherwise than plain objects are
        _CHANGED[id(value)] = value
