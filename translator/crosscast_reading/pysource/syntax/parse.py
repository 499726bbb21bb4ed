"""Text to syntax tree: Python 3 only, bounded, and never an exception."""

from __future__ import annotations

import ast
import re
import warnings
from functools import lru_cache

from crosscast.messages.diagnostics import Diagnostic, Severity, Span
from crosscast.messages.source import Source
from crosscast_reading.pysource.syntax.nodes import inner_nodes

MAX_CHARACTERS = 2_000_000
MAX_LINE = 400_000
"""Longer lines are data, not programs."""
MAX_DEPTH = 200
"""Nodes within each other. What follows names and values goes a few calls of Python deeper for
each, and Python allows 1,000."""

_KEPT = 128
_SHORT = 20_000
"""Trees that are kept, and the length of their texts: at most a hundred megabytes."""

_PYTHON2 = re.compile(
    r"^[ \t]*(print\s+[\"'\w(%]|exec\s+[\"'\w]|except\s+[\w.]+\s*,\s*\w+\s*:|raise\s+\w+\s*,)", re.M
)

_CONFLICT = re.compile(r"^<{7} .*$[\s\S]*^={7}\r?$[\s\S]*^>{7} ", re.M)
_MARKER = re.compile(r"<{7} |={7}\r?$|>{7} |\|{7}")

_HINTS = {
    "CC901": "nothing of this file is understood until it parses",
    "CC902": "convert it to Python 3 first; until then nothing of it is understood",
    "CC903": "nothing of this file is understood",
    "CC905": "keep one side and remove the markers",
}


def parse_source(source: Source) -> tuple[ast.Module | None, Diagnostic | None]:
    """Return the tree of a Python file, or the reason why there is none.

    A file that several programs have is parsed once: nothing may change a tree.

    Diagnostics: CC901 not Python, CC902 Python 2, CC903 too large or too deep, CC905 an unsolved
    merge (the tree of its first side is returned).
    """
    text = source.text.removeprefix("\ufeff")
    if len(text) > MAX_CHARACTERS:
        return None, _refuse(source, "CC903", f"larger than {MAX_CHARACTERS} characters", 1)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        return None, _refuse(source, "CC901", "holds a null character", line)
    if len(text) > MAX_LINE and max(map(len, text.split("\n"))) > MAX_LINE:
        return None, _refuse(source, "CC903", f"holds a line of over {MAX_LINE} characters", 1)
    problem: Diagnostic | None = None
    if "\n>>>>>>> " in text and _CONFLICT.search(text):
        text, line = _first_side(text)
        problem = _refuse(source, "CC905", "holds an unsolved merge: its first side is read", line)
    parse = _parse_once if len(text) <= _SHORT else _parse
    try:
        tree, deep = parse(source.name, text)
    except SyntaxError as error:
        return None, _syntax(source, error)
    except (RecursionError, MemoryError):
        return None, _refuse(source, "CC903", "nests too deep to be read", 1)
    except (ValueError, OverflowError) as error:
        return None, _refuse(source, "CC901", f"not Python: {error}", 1)
    if deep:
        return None, _refuse(source, "CC903", "nests too deep to be read", deep)
    return tree, problem


def is_python(text: str) -> bool:
    """Whether a text can be parsed, however long it is."""
    try:
        _parse("", text)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return False
    return True


def _parse(name: str, text: str) -> tuple[ast.Module, int]:
    """Return a tree, and a line where it is too deep, if there is one.

    The name is among the arguments, since files of one program share no nodes: what is known of a
    node depends on its file.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text, name or "<text>")
    return tree, _too_deep(tree)


_parse_once = lru_cache(_KEPT)(_parse)


def _too_deep(tree: ast.Module) -> int:
    """Return a line with more than `MAX_DEPTH` nodes within each other; 0 if there is none."""
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = inner_nodes(level)
        if not level:
            return 0
    return next((node.lineno for node in level if isinstance(node, ast.expr | ast.stmt)), 1)


def _first_side(text: str) -> tuple[str, int]:
    """Blank out markers and second sides of unsolved merges; return the first marker's line too."""
    rows: list[str] = []
    second = False
    first = 0
    for number, row in enumerate(text.split("\n"), 1):
        marker = bool(_MARKER.match(row))
        if marker:
            first = first or number
            second = row.startswith(("=", "|"))
        rows.append("" if marker or second else row)
    return "\n".join(rows), first


def _syntax(source: Source, error: SyntaxError) -> Diagnostic:
    line, column = max(1, error.lineno or 1), max(1, error.offset or 1)
    words = (error.msg or "invalid syntax").split("\n")[0]
    if "too many" in words or "too complex" in words:
        return _refuse(source, "CC903", f"nests too deep to be read: {words}", line, column)
    if _PYTHON2.search(source.text):
        return _refuse(source, "CC902", f"Python 2, which is not read: {words}", line, column)
    return _refuse(source, "CC901", f"not Python 3: {words}", line, column)


def _refuse(source: Source, code: str, what: str, line: int, column: int = 1) -> Diagnostic:
    lines = source.text.split("\n", line)[:line] if line < 100_000 else []
    text = lines[line - 1].rstrip("\r")[:400] if len(lines) >= line else ""
    return Diagnostic(
        code=code,
        message=what,
        severity=Severity.WARNING,
        span=Span(file=source.name, line=line, column=column, text=text),
        hint=_HINTS.get(code, _HINTS["CC901"]),
    )
