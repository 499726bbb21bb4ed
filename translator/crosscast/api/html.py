"""Parts of what results show in a notebook: self-contained, without scripts, in light and dark."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from crosscast.messages.diagnostics import Diagnostic, render, sort_key
from crosscast.messages.terminal import escaped

MARKS = {
    "exact": "good",
    "adapted": "good",
    "approximate": "doubt",
    "unsupported": "bad",
    "equivalent": "good",
    "equal": "good",
    "same": "good",
    "proven": "good",
    "different": "bad",
    "contradicted": "bad",
    "inconclusive": "doubt",
    "not tested": "doubt",
    "unknown": "doubt",
    "error": "bad",
    "warning": "doubt",
}
"""Words of verdicts to what they mean, in any case."""
_COLOURS = {"good": "#2a8a4a", "doubt": "#a87400", "bad": "#d13b35"}
"""Readable on white and on black."""
_CELL = "text-align:left;vertical-align:top;padding:2px 8px"
_WORD, _LINES = "white-space:nowrap", "white-space:pre-line"
_PRE = "overflow:auto;max-height:30em;text-align:left"


def block(*parts: str) -> str:
    """Return the HTML that a notebook shows of a result."""
    return f'<div class="crosscast">{"".join(parts)}</div>'


def paragraph(text: str) -> str:
    """Return a paragraph with the lines of a text."""
    return f'<p style="{_LINES}">{_text(text)}</p>'


def pre(text: str) -> str:
    """Return a text as it is, such as a recipe or a diff."""
    return f'<pre style="{_PRE}">{_text(text)}</pre>'


def folded(title: str, body: str) -> str:
    """Return a part that opens when its title is chosen."""
    return f"<details><summary>{_text(title)}</summary>{body}</details>"


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, long: Collection[str] = ()
) -> str:
    """Return a table; words of verdicts are coloured.

    Args:
        columns: names of the columns.
        rows: cells of one row each.
        long: names of columns with sentences, which may be wrapped.
    """
    heads = "".join(f'<th style="{_CELL}">{_text(name)}</th>' for name in columns)
    lines = (
        "".join(_cell(text, name in long) for name, text in zip(columns, row, strict=True))
        for row in rows
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _text(text: str) -> str:
    return _escape(escaped(text))


def _escape(text: str) -> str:
    import html  # not at the top: every command would load a table of 2,000 names

    return html.escape(text)


def _cell(text: str, long: bool) -> str:
    mark = MARKS.get(text.lower())
    style = f"{_CELL};{_LINES if long else _WORD}"
    shown = _text(text)
    if mark:
        shown = f'<b style="color:{_COLOURS[mark]}">{shown}</b>'
    return f'<td style="{style}">{shown}</td>'


def problems(diagnostics: Sequence[Diagnostic]) -> str:
    """Return diagnostics as a table, each with its place and what to do; empty without any."""
    if not diagnostics:
        return ""
    columns = ("", "code", "place", "message")
    rows = (
        (
            str(diagnostic.severity),
            diagnostic.code,
            str(diagnostic.span or diagnostic.path or ""),
            render([_without_place(diagnostic)]).partition(": ")[2],
        )
        for diagnostic in sorted(diagnostics, key=sort_key)
    )
    return table(columns, rows, long=("message",))


def _without_place(diagnostic: Diagnostic) -> Diagnostic:
    from dataclasses import replace

    return replace(diagnostic, span=None)


def page(text: str, title: str) -> str:
    """Return a whole HTML page in a frame of its own, so that its styles stay in it."""
    return (
        f'<iframe title="{_escape(title)}" sandbox="allow-scripts" width="100%" height="600" '
        f'style="border:1px solid #888" srcdoc="{_escape(text)}"></iframe>'
    )
