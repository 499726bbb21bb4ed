"""The command `crosscast explore`, and the page that other commands write beside their files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from crosscast.cli.options import options_of, output
from crosscast.messages.console import print_diagnostics

if TYPE_CHECKING:
    from crosscast.api.exploring import Exploration

STDOUT = "-"


@options_of("exploring.explore")
def explore(
    explore: Callable[..., Exploration],
    *,
    output: Annotated[str, output("The page, or - for stdout.", "FILE")],
) -> int:
    """Write a page that shows which lines of the emitted scripts carry which field."""
    exploration = explore(out=file_of(output))
    print_page(exploration)
    if exploration.written is not None:
        print(exploration.written)
    return exploration.exit_code


def file_of(output: str) -> str | None:
    """Return the file that an option names; None for standard output."""
    return None if output == STDOUT else output


def print_page(exploration: Exploration) -> None:
    """Print a page that was not written, and why some targets have no script."""
    if exploration.written is None:
        print(exploration.page, end="")
    print_diagnostics(exploration.diagnostics)
