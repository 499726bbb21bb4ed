"""Changes of programs, kept in files in the form of a diff.

    # Bugs

    ## torch momentum | resnet-cifar | norm1
    @@ torch
    -BatchNorm2d(outputs)
    +BatchNorm2d(outputs, momentum=0.01)

A heading of the second level begins a change: its name, and fields that the first lines of the file
name; `-` is an empty one. Behind `@@` stands what is changed, where there is a choice. The lines
with `-` stand in the text wherever it has them, also within a line, and those with `+` take their
place. A heading of the first level begins another group of changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
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
    """Return the changes of a file by group; the first group is empty if the file has groups."""
    first, *groups = f"\n{path.read_text(encoding='utf-8')}".split("\n# ")
    found = {"": _changes(first)}
    for group in groups:
        title, _, rest = group.partition("\n")
        found[title] = _changes(f"\n{rest}")
    return found


def _changes(text: str) -> tuple[Change, ...]:
    return tuple(_change(*part.split("\n")) for part in text.split("\n## ")[1:])


def _change(heading: str, *lines: str) -> Change:
    name, *fields = heading.split(" | ")
    _, *parts = "\n".join(("", *lines)).split("\n@@")
    return Change(name, tuple(fields), tuple(_edit(*part.splitlines()) for part in parts))


def _edit(what: str, *lines: str) -> Edit:
    texts = {"-": "", "+": ""}
    for sign, part in groupby((line for line in lines if line), key=lambda line: line[0]):
        texts[sign] = "\n".join(line[1:] for line in part)
    return what.strip(), texts["-"], texts["+"]
