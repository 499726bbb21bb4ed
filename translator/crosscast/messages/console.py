"""Print diagnostics to stderr and data to stdout, with colors if the terminal supports them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from crosscast.messages.code import Exit
from crosscast.messages.diagnostics import Diagnostic, Severity, render, sort_key
from crosscast.messages.language import WORDINGS, spoken
from crosscast.messages.screens import Head, Line, Part, fitted, screen
from crosscast.messages.terminal import escaped, print_document, styled_stream

EXIT_OK, EXIT_FINDINGS, EXIT_USAGE, EXIT_CANNOT_RUN, EXIT_INTERRUPTED = Exit

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_DIFF_STYLES = {"---": "bold", "+++": "bold", "@@": "cyan", "-": "red", "+": "green"}
"""Start of a line of a diff to its style; the first that fits."""


def exit_code(diagnostics: Iterable[Diagnostic]) -> Exit:
    """Return the exit code for a set of diagnostics."""
    from crosscast.messages.codes import CODES

    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    exits = {
        (CODES[d.code].exit if d.code in CODES else EXIT_FINDINGS, bool(d.path)) for d in errors
    }
    if any(code is EXIT_CANNOT_RUN for code, _ in exits):
        return EXIT_CANNOT_RUN
    if (EXIT_USAGE, False) in exits:  # about a field of a recipe, it is a finding
        return EXIT_USAGE
    return EXIT_FINDINGS if errors else EXIT_OK


def wants_colour() -> bool:
    """Whether stderr is a terminal and colors are not disabled."""
    return sys.stderr.isatty() and "NO_COLOR" not in os.environ


def print_diagnostics(diagnostics: Sequence[Diagnostic], *, as_json: bool = False) -> None:
    """Print diagnostics to stderr as text, or to stdout as one JSON document."""
    if as_json:
        print_json({"diagnostics": [d.to_json() for d in sorted(diagnostics, key=sort_key)]})
        return
    if not diagnostics:
        return
    language = spoken(sys.stderr)
    text = fitted_report(render(diagnostics, language), sys.stderr)
    if not wants_colour():
        print(text, file=sys.stderr)
        return
    from rich.console import Console
    from rich.text import Text

    styled = Text(escaped(text))
    for severity, style in _STYLES.items():
        word = WORDINGS[language].severities[severity]
        styled.highlight_regex(rf"(?m)(^|: ){word} CC\d+", style)
    styled.highlight_regex(r"(?m)^    \s*\^+$", "bold magenta")
    stream = styled_stream(sys.stderr)
    Console(file=stream, soft_wrap=True, highlight=False).print(styled)


def print_json(data: Any) -> None:
    """Print one JSON document to stdout, in ASCII for any terminal encoding."""
    print(json.dumps(data, indent=2, default=str))


def print_screen(first: Head, parts: Iterable[Part] = (), *, to: TextIO | None = None) -> None:
    """Print what a command prints: lines as they are in a pipe, wrapped to a terminal's width.

    Args:
        first: the lines to begin with.
        parts: what follows.
        to: stdout without it; stderr for a command whose stdout is a document.
    """
    stream = to or sys.stdout
    _print_lines(screen(first, parts, width_of(stream)), stream)


def fitted_report(text: str, stream: TextIO) -> str:
    """Wrap rendered diagnostics to the width of a terminal; lines of source stay whole."""
    width = width_of(stream)
    lines = (
        [line] if line.startswith("    ") else fitted(line, width, "    ")
        for line in text.splitlines()
    )
    return "\n".join(part for of_paragraph in lines for part in of_paragraph)


def print_report(text: str, stream: TextIO) -> None:
    """Print rendered diagnostics and other lines, wrapped to the width of a terminal."""
    if text:
        print(fitted_report(text, stream), file=stream, flush=True)


def width_of(stream: TextIO) -> int | None:
    """Return the width of a terminal; None for a pipe or a file."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def _print_lines(lines: Iterable[Line], stream: TextIO) -> None:
    if not stream.isatty() or "NO_COLOR" in os.environ:
        print(*(line.text for line in lines), sep="\n", file=stream, flush=True)
        return
    from rich.console import Console

    console = Console(file=styled_stream(stream), highlight=False, markup=False)
    for line in lines:
        if line.bold:
            console.print(escaped(line.text), style="bold", soft_wrap=True)
        else:
            print(line.text, file=stream)
    stream.flush()


def cell_text(value: Any) -> str:
    """Return a value as the text of a cell: strings unchanged, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def print_diff(text: str) -> None:
    """Print a unified diff to stdout, with colors on a terminal unless they are disabled."""
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        print_document(text)
        return
    from rich.console import Console

    stream = styled_stream(sys.stdout)
    console = Console(file=stream, highlight=False, markup=False, soft_wrap=True)
    for line in escaped(text).splitlines(keepends=True):
        style = next((s for start, s in _DIFF_STYLES.items() if line.startswith(start)), None)
        console.print(line, style=style, end="")
