"""The readers of the installed packages; a broken plug-in is a diagnostic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

from crosscast.messages.diagnostics import Diagnostic
from crosscast.targets.source_support import (
    SourceSupport,
    installed_support,
    load_object,
    not_loaded,
)
from crosscast_reading.readers.protocol import PythonReader, TextReader

_Loaded = tuple[tuple[Any, ...], tuple[Diagnostic, ...]]


def text_readers() -> tuple[TextReader, ...]:
    """Return the readers of text formats that load, by name."""
    return cast("tuple[TextReader, ...]", _text()[0])


def python_readers() -> tuple[PythonReader, ...]:
    """Return the readers of Python programs that load, by name."""
    return cast("tuple[PythonReader, ...]", _python()[0])


def text_problems() -> tuple[Diagnostic, ...]:
    """Return a diagnostic for every reader of a text format that fails to load."""
    return _text()[1]


def python_problems() -> tuple[Diagnostic, ...]:
    """Return a diagnostic for every reader of Python programs that fails to load."""
    return _python()[1]


@cache
def _text() -> _Loaded:
    return _load(lambda support: support.text_readers, ("read", "sniff"))


@cache
def _python() -> _Loaded:
    return _load(lambda support: support.python_readers, ("read", "hints"))


def _load(named: Callable[[SourceSupport], Mapping[str, str]], needed: tuple[str, ...]) -> _Loaded:
    """Return the readers that have what is needed, by name, and what is wrong with the others."""
    places: dict[str, str] = {}
    for support in installed_support().values():
        places = {**named(support), **places}
    readers: list[Any] = []
    problems: list[Diagnostic] = []
    for name, place in sorted(places.items()):
        try:
            reader = load_object(place)
            missing = [word for word in needed if not hasattr(reader, word)]
            if missing:
                raise TypeError(f"it has no {missing[0]!r}")
        except Exception as error:  # a third-party package may raise anything on import
            problems.append(not_loaded(f"reader {name!r} ({place})", error))
        else:
            readers.append(reader)
    return tuple(readers), tuple(problems)
