"""Python literals of more than one line, as a formatter would break them."""

from __future__ import annotations

from crosscast.emit.render import py_literal

WIDTH = 88


def group_lines(groups: tuple[tuple[tuple[str, ...], float, float | None], ...]) -> tuple[str, ...]:
    """Return the assignment of GROUPS: patterns, factor of the rate and decay of each group."""
    if not groups:
        return ()
    lines = ["GROUPS = [  # patterns, factor of the learning rate, weight decay"]
    for group in groups:
        line = f"    {py_literal(group)},"
        lines += [line] if len(line) <= WIDTH else _broken(group)
    return (*lines, "]")


def _broken(group: tuple[tuple[str, ...], float, float | None]) -> list[str]:
    patterns, factor, decay = group
    line = f"        {py_literal(patterns)},"
    inner = [f"            {py_literal(pattern)}," for pattern in patterns]
    whole = [line] if len(line) <= WIDTH else ["        (", *inner, "        ),"]
    last = [f"        {py_literal(factor)},", f"        {py_literal(decay)},"]
    return ["    (", *whole, *last, "    ),"]
