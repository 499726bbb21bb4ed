"""Notebooks: their code cells as one Python text.

Lines of a place count through the joined text: every cell begins with the line
`# cell N` (N counts code cells from 1), so a reader can find it; the file keeps its name. Magics
(`%time`), shell lines (`!pip`) and help (`x?`) become comments on the same line; a cell magic of
another language (`%%bash`) turns its whole cell into comments.
"""

from __future__ import annotations

import json

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast.messages.source import Source
from crosscast_reading.pysource.syntax.parse import is_python

MAX_CHARACTERS = 40_000_000
_PYTHON_CELL_MAGICS = frozenset(
    {"%%time", "%%timeit", "%%capture", "%%prun", "%%python", "%%python3"}
)


def is_notebook(name: str) -> bool:
    """Whether a file is a notebook, by its name."""
    return name.endswith(".ipynb")


def cells_as_source(source: Source) -> tuple[Source | None, Diagnostic | None]:
    """Return the code cells of a notebook as one text, or why there are none (CC904)."""
    if len(source.text) > MAX_CHARACTERS:
        return None, _refuse(source, f"larger than {MAX_CHARACTERS} characters")
    try:
        content = json.loads(source.text)
    except (ValueError, RecursionError):
        return None, _refuse(source, "not a notebook: it is not JSON")
    cells = content.get("cells") if isinstance(content, dict) else None
    if cells is None and isinstance(content, dict):
        sheets = content.get("worksheets")
        if isinstance(sheets, list):
            cells = [c for s in sheets if isinstance(s, dict) for c in _listed(s.get("cells"))]
    if not isinstance(cells, list):
        return None, _refuse(source, "not a notebook: it has no cells")
    language = _language(content)
    if language not in ("", "python"):
        return None, _refuse(source, f"a notebook in {language}, not in Python")
    lines: list[str] = []
    number = 0
    for cell in cells:
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        number += 1
        text = cell.get("source", cell.get("input", ""))
        if isinstance(text, list):
            text = "".join(line for line in text if isinstance(line, str))
        if isinstance(text, str):
            lines.append(f"# cell {number}")
            lines += _neutral(text.replace("\r\n", "\n").split("\n"))
    return Source(source.name, "\n".join(lines) + "\n"), None


def _language(content: dict[str, object]) -> str:
    """Return the language that the metadata name; "" if they name none."""
    metadata = content.get("metadata")
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        entry = metadata.get(key) if isinstance(metadata, dict) else None
        value = entry.get(name) if isinstance(entry, dict) else None
        if isinstance(value, str):
            return "python" if value.lower().startswith(("python", "ipython")) else value
    return ""


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _neutral(rows: list[str]) -> list[str]:
    first = next((row.strip() for row in rows if row.strip()), "")
    if first.startswith("%%") and first.split()[0] not in _PYTHON_CELL_MAGICS:
        return [f"# {row}" for row in rows]
    if is_python("\n".join(rows)):  # a line that begins with % goes on with the one before
        return rows
    lines: list[str] = []
    going_on = False
    for row in rows:
        bare = row.lstrip()
        indent = row[: len(row) - len(bare)]
        if going_on:
            going_on = row.rstrip().endswith("\\")
            lines.append(f"# {bare}".rstrip("\\"))
            continue
        magic = bare.startswith(("!", "%", "?")) or _help(bare)
        if magic:
            going_on = row.rstrip().endswith("\\")
            body = f"# {bare}".rstrip("\\")
            lines.append(f"{indent}pass  {body}" if indent and not _open_text(lines) else body)
        elif bare.partition("=")[2].lstrip().startswith(("!", "%")):
            target = bare.partition("=")[0].strip()
            lines.append(f"{indent}{target} = None  # {bare}" if target.isidentifier() else row)
        else:
            lines.append(row)
    return lines


def _help(bare: str) -> bool:
    word = bare.rstrip()
    return word.endswith("?") and word.rstrip("?").replace(".", "").isidentifier()


def _open_text(rows: list[str]) -> bool:
    """Whether a triple-quoted string is open, in which a magic is text."""
    text = "\n".join(rows)
    return text.count('"""') % 2 == 1 or text.count("'''") % 2 == 1


def _refuse(source: Source, what: str) -> Diagnostic:
    return Diagnostic(
        code="CC904",
        message=f"{source.name}: {what}",
        severity=Severity.WARNING,
        hint="nothing of this file is understood",
    )
