"""Print what a function returned: three lines, what is not as wanted, and the diagnostics."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from crosscast.messages.console import print_diagnostics, print_screen

if TYPE_CHECKING:
    from crosscast.api.result import Result


def show(answer: Result, *, all: bool = False) -> None:
    """Print a result to stdout and its diagnostics to stderr."""
    print_screen(answer.head, answer.parts(all=all))
    print_diagnostics(answer.diagnostics)


def show_head(answer: Result) -> None:
    """Print the three lines to stderr, for a command whose stdout is a document."""
    print_screen(answer.head, to=sys.stderr)
