"""The code of a source: its text without comments and docstrings."""

from __future__ import annotations

import ast
import io
import re
import tokenize

from crosscast_reading.pysource.syntax.nodes import walk

_ENDS = re.compile(r"\r\n|\r|\n")
"""What Python counts as the end of a line."""


def code_of(tree: ast.Module, text: str) -> str:
    """Return a text without comments and without strings that are statements.

    Lines keep their numbers. A text that cannot be split into tokens, as one with magics
    of notebooks, keeps what follows.
    """
    lines = _ENDS.split(text)
    for node in walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=int() as last):
                if first == last and lines[first - 1].strip()[:1] not in "\"'rRuU":
                    continue  # not alone in its line
                lines[first - 1 : last] = [""] * (last - first + 1)
    if "#" not in text:
        return "\n".join(lines)
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(_ENDS.split(text))).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
    except (tokenize.TokenError, SyntaxError):
        pass
    return "\n".join(lines)
