"""Edits of the code cells of a notebook.

Only the strings of the changed lines are written again: outputs, metadata and the layout of the
JSON text stay as they are, byte for byte. Lines of edits count through the text that
`cells_as_source` makes of the cells.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from crosscast.messages.source import Source
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.text_edits import apply_edits, lines_of
from crosscast_reading.pysource.syntax.notebook import cells_as_source

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+')
_HEADER = 1
"""Lines before those of a cell: the comment with its number."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A JSON value with its place: a mapping, a list, or a text; None for anything else."""

    start: int
    end: int
    value: dict[str, _Node] | list[_Node] | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """A code cell. `first`: the line of the joined text with its first line."""

    node: _Node
    text: str
    first: int
    as_is: tuple[bool, ...]
    """Which lines stand in the joined text as in the cell; magics do not."""

    @property
    def lines(self) -> int:
        """Number of lines."""
        return len(self.as_is)

    def takes(self, edit: Edit) -> bool:
        """Whether an edit with lines of the cell leaves every magic as it is and where it is."""
        if (edit.line, edit.column) == (edit.end_line, edit.end_column):
            row = lines_of(self.text)[edit.line - 1]
            magic = row.lstrip().startswith("%%")  # it must stay the first line
            return not magic and (self.as_is[edit.line - 1] or edit.column == 1)
        last = edit.end_line + (edit.end_column > 1)
        return all(self.as_is[line - 1] for line in range(edit.line, last))


def apply_to_notebook(text: str, edits: Sequence[Edit]) -> str | None:
    """Return the text of a notebook with edits of its cells; None if they cannot be made there.

    An edit cannot be made if it goes beyond one cell, or changes a line with a magic.
    """
    try:
        cells = _cells_of(text)
    except RecursionError:
        return None
    by_cell: dict[int, list[Edit]] = {}
    for edit in edits:
        in_cell = _local(cells, edit)
        if in_cell is None:
            return None
        by_cell.setdefault(in_cell[0], []).append(in_cell[1])
    for number, chosen in sorted(by_cell.items(), reverse=True):
        cell = cells[number]
        new = apply_edits(cell.text, chosen)
        if not cell.text.endswith("\n"):  # the last line of a cell has no end
            new = new.rstrip("\r\n")
        text = text[: cell.node.start] + _encoded(text, cell.node, new) + text[cell.node.end :]
    return text


def _cells_of(text: str) -> list[_Cell]:
    """Return the code cells of a notebook; none if it is not one."""
    joined, _ = cells_as_source(Source("", text))
    if joined is None:
        return []
    rows = joined.text.split("\n")
    cells: list[_Cell] = []
    line = 0
    for node in _code_nodes(_parse(text)):
        own = "" if node is None else _text_of(node)
        if own is None:  # neither a text nor a list: the joined text leaves it out
            continue
        raw = own.replace("\r\n", "\n").split("\n")
        first = line + _HEADER + 1
        line += _HEADER + len(raw)
        if node is not None and len(lines_of(own)) == len(raw):
            pairs = zip(raw, rows[first - 1 : line], strict=True)
            as_is = tuple(a == b for a, b in pairs)
            cells.append(_Cell(node=node, text=own, first=first, as_is=as_is))
    return cells


def _code_nodes(root: _Node) -> Iterator[_Node | None]:
    """Yield the sources of code cells as `cells_as_source` orders them; None for a missing one."""
    content = root.value if isinstance(root.value, dict) else {}
    cells = _items(content.get("cells"))
    if "cells" not in content:
        sheets = _items(content.get("worksheets"))
        fields = [sheet.value for sheet in sheets if isinstance(sheet.value, dict)]
        cells = [cell for sheet in fields for cell in _items(sheet.get("cells"))]
    for cell in cells:
        if isinstance(cell.value, dict):
            kind = cell.value.get("cell_type")
            if kind is not None and kind.value == "code":
                yield cell.value.get("source", cell.value.get("input"))


def _items(node: _Node | None) -> list[_Node]:
    return node.value if node is not None and isinstance(node.value, list) else []


def _text_of(node: _Node) -> str | None:
    if isinstance(node.value, list):
        return "".join(part.value for part in node.value if isinstance(part.value, str))
    return node.value if isinstance(node.value, str) else None


def _local(cells: Sequence[_Cell], edit: Edit) -> tuple[int, Edit] | None:
    """Return the cell of an edit, and the edit with the lines of that cell."""
    inserts = (edit.line, edit.column) == (edit.end_line, edit.end_column)
    for number, cell in enumerate(cells):
        beyond = cell.first + cell.lines
        if inserts and (edit.line, edit.column) == (beyond, 1):
            return _appended(number, cell, edit)
        if not cell.first - _HEADER <= edit.line < beyond:
            continue
        start, end = edit.line - cell.first + 1, edit.end_line - cell.first + 1
        local = replace(edit, line=start, end_line=end)
        if start < 1:  # the line with the number of the cell, which only the joined text has
            if not inserts or edit.column != 1:
                return None
            local = replace(edit, line=1, end_line=1)
        elif (end, edit.end_column) == (cell.lines + 1, 1):  # with the end of its last line
            last = len(lines_of(cell.text)[-1]) + 1
            local = replace(local, end_line=cell.lines, end_column=last)
        elif end > cell.lines:
            return None
        return (number, local) if cell.takes(local) else None
    return None


def _appended(number: int, cell: _Cell, edit: Edit) -> tuple[int, Edit] | None:
    """Return the edit that adds a text to the end of a cell."""
    column = len(lines_of(cell.text)[-1]) + 1
    text = f"\n{edit.text}" if column > 1 else edit.text
    last = cell.lines
    local = replace(edit, text=text, line=last, end_line=last, column=column, end_column=column)
    return (number, local) if cell.takes(local) else None


def _encoded(text: str, node: _Node, new: str) -> str:
    """Return the JSON of a cell's source in the layout that it had."""
    if not isinstance(node.value, list):
        return _string(text, new)
    parts = node.value
    known = {part.value: text[part.start : part.end] for part in parts}
    lines = re.findall(r"[^\n]*\n|[^\n]+", new)
    strings = [known.get(line) or _string(text, line) for line in lines]
    if not parts or not strings:
        return f"[{', '.join(strings)}]"
    opening, closing = text[node.start : parts[0].start], text[parts[-1].end : node.end]
    between = ", "
    if len(parts) > 1:
        between = text[parts[0].end : parts[1].start]
    elif "\n" in opening:
        between = f",{opening.lstrip('[')}"
    return opening + between.join(strings) + closing


def _string(text: str, value: str) -> str:
    return json.dumps(value, ensure_ascii=text.isascii())


def _parse(text: str) -> _Node:
    """Return the tree of a valid JSON text."""
    tokens = list(_TOKEN.finditer(text))
    node, _ = _value(tokens, 0)
    return node


def _value(tokens: Sequence[re.Match[str]], at: int) -> tuple[_Node, int]:
    token = tokens[at]
    start, word = token.start(), token[0]
    if word == "{":
        fields: dict[str, _Node] = {}
        at += 1
        while tokens[at][0] != "}":
            name = str(json.loads(tokens[at][0]))
            fields[name], at = _value(tokens, at + 2)
            at += tokens[at][0] == ","
        return _Node(start, tokens[at].end(), fields), at + 1
    if word == "[":
        items: list[_Node] = []
        at += 1
        while tokens[at][0] != "]":
            item, at = _value(tokens, at)
            items.append(item)
            at += tokens[at][0] == ","
        return _Node(start, tokens[at].end(), items), at + 1
    value = str(json.loads(word, strict=False)) if word.startswith('"') else None
    return _Node(start, token.end(), value), at + 1
