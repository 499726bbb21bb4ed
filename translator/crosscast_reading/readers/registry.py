"""The installed readers, found by entry points; a broken plug-in is a diagnostic."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any, cast

from crosscast.messages.diagnostics import Diagnostic
from crosscast_reading.readers.protocol import PythonReader, TextReader

TEXT_GROUP = "crosscast.readers"
PYTHON_GROUP = "crosscast.python_readers"

Loaded = tuple[tuple[Any, ...], tuple[Diagnostic, ...]]


def text_readers() -> tuple[TextReader, ...]:
    """Return the readers of text formats that load, by the names of their entry points."""
    return cast("tuple[TextReader, ...]", _load(TEXT_GROUP)[0])


def python_readers() -> tuple[PythonReader, ...]:
    """Return the readers of Python programs that load, by the names of their entry points."""
    return cast("tuple[PythonReader, ...]", _load(PYTHON_GROUP)[0])


def reader_problems(*groups: str) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for every reader of these groups that fails to load."""
    return tuple(problem for group in groups for problem in _load(group)[1])


@cache
def _load(group: str) -> Loaded:
    needed = ("read", "sniff") if group == TEXT_GROUP else ("read", "hints")
    readers: list[Any] = []
    problems: list[Diagnostic] = []
    for entry in sorted(entry_points(group=group), key=lambda reader: reader.name):
        try:
            reader = entry.load()
            missing = [name for name in needed if not hasattr(reader, name)]
            if missing:
                raise TypeError(f"it has no {missing[0]!r}")
        except Exception as error:  # a third-party package may raise anything on import
            problems.append(
                Diagnostic(
                    code="CC955",
                    message=f"reader {entry.name!r} of {group} does not load: {error}",
                    hint="update or remove the package that brings it",
                )
            )
        else:
            readers.append(reader)
    return tuple(readers), tuple(problems)
