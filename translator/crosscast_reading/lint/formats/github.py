"""GitHub annotations: one workflow command per line."""

from __future__ import annotations

from collections.abc import Sequence

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.formats.paths import relative
from crosscast_reading.lint.result import Result, order

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def github(results: Sequence[Result]) -> str:
    """Return one workflow command per result."""
    return "".join(f"{_command(result)}\n" for result in sorted(results, key=order))


def _command(result: Result) -> str:
    title = f"crosscast {result.code}" + (f" {result.name}" if result.name else "")
    properties = {"title": title}
    span = result.span
    if span is not None:
        properties |= {"file": relative(span.file)[0], "line": str(max(1, span.line))}
        properties["col"] = str(max(1, span.column))
        if span.end_column is not None and span.end_column > span.column:
            properties["endColumn"] = str(span.end_column)
    message = f"{result.message}\n{result.hint}" if result.hint else result.message
    parameters = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_LEVELS[result.severity]} {parameters}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
