"""Changes of programs, kept in files in the form of a diff.

    # Bugs

    ## torch momentum | resnet-cifar | norm1
    @@ torch
    -BatchNorm2d(outputs)
    +BatchNorm2d(outputs, momentum=0.01)

A heading of the second level begins a change: its name, and fields that the first lines of the file
name; `-` is an empty one. Behind `@@` stands what is changed, where there is a choice. The lines
with `-` stand in the text wherever it has them, also within a line, and those with `+` take their
place. A heading of the first level begins another group of changes. Anything else is an error, and
so is a group without changes, but the first where others follow: no change is left out in silence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

Edit = tuple[str, str, str]
"""What is changed, as behind `@@`; its old text and its new one."""


@dataclass(frozen=True)
class Change:
    """A change of a program."""

    name: str
    fields: tuple[str, ...]
    edits: tuple[Edit, ...]

    def field(self, number: int) -> str:
        """Return a field; empty if the heading has none."""
        text = self.fields[number] if number < len(self.fields) else ""
        return "" if text == "-" else text


def changes_in(path: Path) -> Mapping[str, tuple[Change, ...]]:
    """Return the changes of a file by group; the first group is empty if the file has groups.

    Raises:
        ValueError: A line is neither prose before the first change nor a part of a change, two
            groups or changes have one heading, or there is nothing.
    """
    first, *groups = f"\n{path.read_text(encoding='utf-8')}".split("\n# ")
    found = {"": _changes(path, first)}
    for group in groups:
        title, _, rest = group.partition("\n")
        if title in found:
            raise ValueError(f"{path.name}: two groups {title!r}")
        found[title] = _changes(path, f"\n{rest}")
    without = [title for title, changes in found.items() if not changes and (title or not groups)]
    if without:
        raise ValueError(f"{path.name}: no changes: {without}")
    return found


def _changes(path: Path, text: str) -> tuple[Change, ...]:
    prose, *parts = text.split("\n## ")
    stray = re.search(r"^(#|@@|[-+]).*", prose, re.MULTILINE)
    if stray:
        raise ValueError(f"{path.name}: before the first change: {stray[0]!r}")
    changes: dict[str, Change] = {}
    for part in parts:
        heading, *lines = part.split("\n")
        if heading in changes:
            raise ValueError(f"{path.name}: two changes {heading!r}")
        try:
            changes[heading] = _change(heading, *lines)
        except ValueError as error:
            raise ValueError(f"{path.name}: {heading}: {error}") from error
    return tuple(changes.values())


def _change(heading: str, *lines: str) -> Change:
    name, *fields = heading.split(" | ")
    before, *parts = "\n".join(("", *lines)).split("\n@@")
    if before.strip():
        raise ValueError(f"before the first edit: {before.strip()!r}")
    return Change(name, tuple(fields), tuple(_edit(*part.splitlines()) for part in parts))


def _edit(what: str, *lines: str) -> Edit:
    shown = [line for line in lines if line]
    old = [line[1:] for line in shown if line[0] == "-"]
    new = [line[1:] for line in shown if line[0] == "+"]
    if not old or shown != [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]:
        raise ValueError(f"an edit has lines with `-`, then those with `+`: {shown}")
    return what.strip(), "\n".join(old), "\n".join(new)
