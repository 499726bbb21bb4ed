"""Syntax colour: the lines of a text as HTML."""

from __future__ import annotations

from dataclasses import dataclass, field

from markupsafe import Markup, escape
from pygments import token as tokens
from pygments.lexer import Lexer
from pygments.lexers.configs import IniLexer
from pygments.lexers.data import JsonLexer, YamlLexer
from pygments.lexers.python import PythonLexer
from pygments.lexers.shell import BashLexer
from pygments.lexers.special import TextLexer

_LEXERS: dict[str, type[Lexer]] = {
    ".py": PythonLexer,
    ".sh": BashLexer,
    ".sbatch": BashLexer,
    ".yaml": YamlLexer,
    ".yml": YamlLexer,
    ".json": JsonLexer,
    ".cfg": IniLexer,
    ".ini": IniLexer,
}
_CLASSES = (
    (tokens.Comment, "c"),
    (tokens.String, "s"),
    (tokens.Number, "m"),
    (tokens.Keyword, "k"),
    (tokens.Operator.Word, "k"),
    (tokens.Name.Function, "f"),
    (tokens.Name.Class, "f"),
    (tokens.Name.Decorator, "d"),
    (tokens.Name.Builtin, "b"),
    (tokens.Name.Tag, "t"),
)
"""Kinds of tokens and their CSS classes; the first that fits."""


@dataclass(slots=True)
class ColouredLine:
    """A line of a text."""

    indent: str = ""
    """The blanks at its start: an element of its own, so that long lines wrap behind it."""
    html: Markup = field(default_factory=Markup)


def highlighted(text: str, name: str) -> list[ColouredLine]:
    """Return the lines of a text as HTML, by the suffix of the file's name.

    A text that a lexer does not understand is still escaped and complete.
    """
    suffix = name[name.rfind(".") :] if "." in name else ""
    lexer = _LEXERS.get(suffix, TextLexer)(stripnl=False, ensurenl=False)
    lines = [ColouredLine()]
    for kind, value in lexer.get_tokens(text):
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append(ColouredLine())
            line = lines[-1]
            rest = part if line.html else part.lstrip(" ")
            line.indent += part[: len(part) - len(rest)]
            line.html += _span(rest, kind)
    return lines


def _span(part: str, kind: object) -> Markup:
    if not part:
        return Markup()
    name = next((css for group, css in _CLASSES if kind in group), "")
    return Markup("<i class={}>{}</i>").format(name, part) if name else escape(part)
