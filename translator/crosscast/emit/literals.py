"""Long constants, in as many lines as a formatter would use."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.emit.render import py_literal

WIDTH = 88


def assignment(name: str, value: tuple[object, ...]) -> tuple[str, ...]:
    """Return the lines of `name = value` for a tuple, of tuples as it may be."""
    return tuple(_lines(f"{name} = ", value, 0, ""))


def _lines(prefix: str, value: object, indent: int, comma: str) -> Iterator[str]:
    line = f"{' ' * indent}{prefix}{py_literal(value)}{comma}"
    if len(line) <= WIDTH or not isinstance(value, tuple):
        yield line
        return
    yield f"{' ' * indent}{prefix}("
    for item in value:
        yield from _lines("", item, indent + 4, ",")
    yield f"{' ' * indent}){comma}"
