"""Python literals of more than one line, as a formatter would break them."""

from __future__ import annotations

from crosscast.emit.render import py_literal
from crosscast.plan.operations import Group

WIDTH = 88
"""Of an emitted line."""


def group_lines(groups: tuple[Group, ...]) -> tuple[str, ...]:
    """Return the assignment of GROUPS: patterns, factor of the rate and decay of each group."""
    if not groups:
        return ()
    lines = ["GROUPS = [  # patterns, factor of the learning rate, weight decay"]
    for group in groups:
        line = f"    {py_literal((group.parameters, group.rate_factor, group.weight_decay))},"
        lines += [line] if len(line) <= WIDTH else _broken(group)
    return (*lines, "]")


def _broken(group: Group) -> list[str]:
    line = f"        {py_literal(group.parameters)},"
    inner = [f"            {py_literal(pattern)}," for pattern in group.parameters]
    whole = [line] if len(line) <= WIDTH else ["        (", *inner, "        ),"]
    last = [f"        {py_literal(value)}," for value in (group.rate_factor, group.weight_decay)]
    return ["    (", *whole, *last, "    ),"]
