"""Format tables as text without truncating cells."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from crosscast.messages.cells import cells as cells_of
from crosscast.messages.cells import padded as filled
from crosscast.messages.cells import wrapped

GAP = "  "
INDENT = "    "
PADDED = 40
"""Maximum padded width of a column of sentences in a pipe."""
BESIDE = 16
"""Maximum padded width of a cell next to a sentence on a narrow terminal."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A table as lines."""

    head: tuple[str, ...]
    """The names of the columns: one line, or several if the width requires it."""
    rows: tuple[str, ...]


def layout(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    long: Collection[str] = (),
    width: int | None = None,
) -> Layout:
    """Return a table as lines.

    Args:
        columns: Names of the columns.
        rows: Cells of one line each.
        long: Names of the columns with sentences, which may be wrapped.
        width: Width of the terminal; None prints every row as one line of any length. Longer rows
            continue in indented lines.
    """
    widths = [max(map(cells_of, column)) for column in zip(columns, *rows, strict=True)]
    sentences = [name in long for name in columns]
    if width is None or _room(widths) <= width:
        limits = [
            min(size, PADDED) if sentence else size
            for size, sentence in zip(widths, sentences, strict=True)
        ]
        lines = tuple(_join_cells(cells, limits) for cells in (columns, *rows))
        return Layout(lines[:1], lines[1:])
    groups = _groups(widths, sentences, width)
    for group, after in pairwise(groups):
        if sentences[after[0]] and len(group) > 1:
            widths[group[-1]] = min(widths[group[-1]], BESIDE)
    head, *body = (
        tuple(_lines(cells, groups, widths, sentences, width)) for cells in (columns, *rows)
    )
    return Layout(head, tuple(line for lines in body for line in lines))


def _join_cells(cells: Sequence[str], widths: Sequence[int]) -> str:
    return GAP.join(map(filled, cells, widths)).rstrip()


def _room(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _groups(widths: Sequence[int], sentences: Sequence[bool], width: int) -> list[list[int]]:
    """Return the columns of each line; a column of sentences has its own line."""
    groups: list[list[int]] = []
    for index, sentence in enumerate(sentences):
        fits = groups and not sentence and not sentences[groups[-1][-1]]
        indent = len(INDENT) if len(groups) > 1 else 0
        if fits and indent + _room([widths[i] for i in (*groups[-1], index)]) <= width:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _lines(
    cells: Sequence[str],
    groups: Sequence[Sequence[int]],
    widths: Sequence[int],
    sentences: Sequence[bool],
    width: int,
) -> Iterator[str]:
    """Yield the lines of one row; a short sentence follows the names before it."""
    line = ""
    for number, group in enumerate(groups):
        indent = INDENT if number else ""
        first = group[0]
        if not sentences[first]:
            yield from [line.rstrip()] if line.strip() else []
            line = indent + GAP.join(filled(cells[i], widths[i]) for i in group)
            if len(group) == 1 and cells_of(line.rstrip()) > width:
                *whole, line = _wrapped(cells[first], indent, width, cut=False)
                yield from whole
        elif line and cells_of(line + GAP + cells[first]) <= width:
            yield (line + GAP + cells[first]).rstrip()
            line = ""
        else:
            yield from [line.rstrip()] if line.strip() else []
            yield from _wrapped(cells[first], indent, width)
            line = ""
    yield from [line.rstrip()] if line.strip() else []


def _wrapped(text: str, indent: str, width: int, *, cut: bool = True) -> list[str]:
    return wrapped(text, max(width, 2 * len(INDENT)), first=indent, indent=indent, cut=cut)
