"""Text of the command line to the value that a flag's type makes of it."""

from __future__ import annotations

import ast

from crosscast_reading.pysource.values.budget import MAX_LENGTH
from crosscast_reading.pysource.values.value import Known, Unknown, Value

_TRUE = frozenset({"true", "t", "1", "yes", "y", "on"})
_FALSE = frozenset({"false", "f", "0", "no", "n", "off"})
_TEXTS = frozenset(
    {
        *("", "str", "Path", "Text", "STRING", "string", "PathLike", "abspath", "expanduser"),
        "config_file",
    }
)
"""Types that leave a text what it is; `config_file` is the name of a file."""


def convert(content: object, kind: str, parser: str = "argparse") -> Value:
    """Return the result of a parser for one value.

    Args:
        content: text of the command line, or a default (which argparse converts only if it is
            text).
        kind: text of the type in the source: `int`, `str2bool`, `lambda x: ...`.
        parser: argparse's `bool` makes True of every text but the empty one.
    """
    if not isinstance(content, str):
        return Known(content)
    if len(content) > MAX_LENGTH:
        return Unknown(content[:80], "it is too long")
    last = kind.rpartition(".")[2]
    try:
        return _known(content, last, kind, parser)
    except (ValueError, OverflowError):
        return Unknown(content, f"it is no {last or 'value'}", "flag")


def _known(content: str, last: str, kind: str, parser: str) -> Value:
    small = content.strip().lower()
    if last in _TEXTS:
        return Known(content)
    if last in ("int", "INT", "integer", "Int", "positive_int", "int_type"):
        return Known(int(content))
    if last in ("float", "FLOAT", "Float", "positive_float", "float_type", "double"):
        return Known(float(content))
    if last == "bool" and parser == "argparse":
        return Known(content != "")
    if "bool" in last.lower() or last in ("t_or_f", "str2b", "boolean_string"):
        if small in _TRUE:
            return Known(True)
        return Known(False) if small in _FALSE else Unknown(content, "it is neither true nor false")
    if last in ("eval", "literal_eval", "loads", "json_type", "safe_load"):
        return literal(content)
    return Unknown(content, f"{kind[:80]} makes something of it that only a run can tell", "flag")


def literal(content: str) -> Value:
    """Return the Python literal that a text is; the text itself if it is none."""
    if len(content) > 2000:
        return Known(content)
    try:
        return Known(ast.literal_eval(content))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        small = content.lower()
        return Known(small == "true") if small in ("true", "false") else Known(content)
