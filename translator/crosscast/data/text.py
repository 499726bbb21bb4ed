"""Readers for labeled sentence pairs: XNLI files, other tab-separated files, JSON lines.

Every reader reads the whole file and reports all invalid rows together. In tab-separated files
quotes are data and there are no escapes, so a row is always one line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crosscast.data.lines import Lines
from crosscast.data.pairs import NLI, NLI_LABELS, Columns, LabeledPair, Labels, PairFile, read_pairs
from crosscast.data.row_problems import Problems


def read_xnli(
    path: str | Path, *, language: str | None = "en", skip_unlabelled: bool = False
) -> PairFile:
    """Read an XNLI file: a header with `gold_label`, `sentence1`, `sentence2`, `language`.

    Args:
        path: the file.
        language: keep only rows of this language; None keeps all and needs no language column.
        skip_unlabelled: skip rows whose label is empty or `-` instead of reporting them.

    Raises:
        DiagnosticError: as `read_tsv`.
    """
    columns = Columns(label="gold_label")
    return _read_tsv(
        Path(path), columns, Labels(NLI_LABELS, skip_unlabelled), header=True, language=language
    )


def read_tsv(
    path: str | Path, columns: Columns, *, labels: Labels = NLI, header: bool = True
) -> PairFile:
    """Read a tab-separated file of pairs.

    Args:
        path: the file.
        columns: names from the header, or numbers.
        labels: the label words.
        header: whether the first line names the columns.

    Raises:
        DiagnosticError: CC601 (cannot be read), CC626 (no rows), or together, by line: CC620
            (not UTF-8), CC621 (number of columns), CC622 (no such column), CC623 (label), CC624
            (empty sentence).
    """
    return _read_tsv(Path(path), columns, labels, header=header, language=None)


def read_jsonl(
    path: str | Path, columns: Columns | None = None, *, labels: Labels = NLI
) -> PairFile:
    """Read a file with one JSON object per line; the label may be a string or an integer.

    Raises:
        DiagnosticError: as `read_tsv`, with CC625 for a line that is not such an object.
    """
    names = columns or Columns()

    def rows(lines: Lines) -> Iterator[LabeledPair]:
        for line, text in lines:
            if text.strip() and (row := _json_row(line, text, names, lines.problems)):
                yield row

    return read_pairs(Path(path), labels, rows)


def _read_tsv(
    path: Path, columns: Columns, labels: Labels, *, header: bool, language: str | None
) -> PairFile:
    def rows(lines: Lines) -> Iterator[LabeledPair]:
        named: list[str | int] = [columns.first, columns.second, columns.label]
        if language is not None:
            named.append("language")
        width = 0
        places: list[int] = []
        for line, text in lines:
            cells = text.split("\t")
            if not places:
                if header and lines.problems.kept:
                    return  # the header itself could not be read
                width = len(cells)
                places = _places(cells if header else None, width, named, line, text, lines)
                if not places:
                    return
                if header:
                    continue
            if len(cells) != width:
                message = f"{len(cells)} columns, the first line has {width}"
                lines.problems.add("CC621", message, line, text=text)
                continue
            values = [cells[place] for place in places]
            if language is None or values[3] == language:
                column = sum(len(cell) + 1 for cell in cells[: places[2]]) + 1
                yield LabeledPair(line, text, values[0], values[1], values[2].strip(), column)

    wanted = "rows to use" if language is None else f"rows of language {language!r}"
    return read_pairs(path, labels, rows, wanted)


def _places(
    names: list[str] | None,
    width: int,
    wanted: list[str | int],
    line: int,
    text: str,
    lines: Lines,
) -> list[int]:
    """Return the position of each wanted column; empty, with problems added, if one is missing."""
    places = []
    for column in wanted:
        hint = f"columns are {', '.join(names)[:200]}" if names else f"{width} columns"
        if isinstance(column, int):
            count, place = int(0 <= column < width), column
        elif names is None:
            count, place, hint = 0, 0, "a file without a header needs column numbers"
        else:
            count = names.count(column)
            place = names.index(column) if count else 0
        places.append(place)
        if count != 1:
            message = f"{count} columns {column!r}" if count else f"no column {column!r}"
            lines.problems.add("CC622", message, line, text=text, hint=hint)
    return [] if lines.problems.kept else places


def _json_row(line: int, text: str, columns: Columns, problems: Problems) -> LabeledPair | None:
    try:
        record: Any = json.loads(text)
    except json.JSONDecodeError as error:
        place = (error.colno, error.colno + 1)
        problems.add("CC625", f"not JSON: {error.msg}", line, text=text, columns=place)
        return None
    except (RecursionError, ValueError):  # nested too deep, or a number of thousands of digits
        problems.add("CC625", "not JSON that can be read", line, text=text)
        return None
    if not isinstance(record, dict):
        problems.add("CC625", "not a JSON object", line, text=text)
        return None
    label = _label_text(record.get(str(columns.label)))
    values = (record.get(str(columns.first)), record.get(str(columns.second)), label)
    fine = True
    for key, value in zip((columns.first, columns.second, columns.label), values, strict=True):
        if problem := _value_problem(value):
            problems.add("CC625", f"field {key!r} {problem}", line, text=text)
            fine = False
    return LabeledPair(line, text, str(values[0]), str(values[1]), label) if fine else None


def _label_text(value: Any) -> Any:
    """Return the text of a label, which may be an integer; None counts as missing."""
    if value is None:
        return ""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _value_problem(value: Any) -> str:
    if value is None:
        return "is missing"
    if not isinstance(value, str):
        return "is not text"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "contains half of a surrogate pair"
    return ""
