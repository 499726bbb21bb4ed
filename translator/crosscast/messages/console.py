"""Print diagnostics to stderr and data to stdout, with colors if the terminal supports them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, TextIO

from crosscast.messages.diagnostics import Diagnostic, Severity, render, sort_key
from crosscast.messages.language import WORDINGS, spoken
from crosscast.messages.screens import Head, Line, Part, fitted, screen
from crosscast.messages.terminal import escaped, print_document, styled_stream


class Exit(IntEnum):
    """What a command ends with, and what a result in Python says of itself."""

    OK = 0
    FINDINGS = 1
    """Problems were found, or programs are not equivalent."""
    USAGE = 2
    """A usage error, or a file that cannot be read or written."""
    CANNOT_RUN = 3
    """Something is missing on this machine."""
    INTERRUPTED = 130


EXIT_OK, EXIT_FINDINGS, EXIT_USAGE, EXIT_CANNOT_RUN, EXIT_INTERRUPTED = Exit

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_DIFF_STYLES = {"---": "bold", "+++": "bold", "@@": "cyan", "-": "red", "+": "green"}
"""Start of a line of a diff to its style; the first that fits."""
_FILE_USAGE = ("CC001", "CC002", "CC003", "CC004", "CC005", "CC021", "CC022", "CC5")
_TARGET_USAGE = ("CC106", "CC108")
_CALL_USAGE = ("CC016", "CC028")
_READ_USAGE = ("CC919", "CC951", "CC952", "CC954", "CC969", "CC970", "CC980")
_PLAN_USAGE = ("CC461", "CC462", "CC463", "CC464")
_DATA_USAGE = ("CC601", "CC610", "CC641")
_PARITY_USAGE = ("CC705", "CC707", "CC708", "CC710", "CC716", "CC748")
_SWEEP_USAGE = ("CC728", "CC729", "CC730")
_USAGE_CODES = (
    *_FILE_USAGE,
    *_TARGET_USAGE,
    *_CALL_USAGE,
    *_READ_USAGE,
    *_PLAN_USAGE,
    *_DATA_USAGE,
    *_PARITY_USAGE,
    *_SWEEP_USAGE,
)
"""Codes about the command line or a call from Python: an option, a target, a file or a folder."""


def exit_code(diagnostics: Iterable[Diagnostic]) -> Exit:
    """Return the exit code for a set of diagnostics."""
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    if any(d.code.startswith("CC40") for d in errors):
        return EXIT_CANNOT_RUN
    if any(d.code.startswith(_USAGE_CODES) and not d.path for d in errors):
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
    return "\n".join(part for some in lines for part in some)


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
