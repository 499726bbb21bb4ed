"""The command `crosscast explore`, and the page that other commands write beside their files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crosscast.cli.completion import complete_targets
from crosscast.cli.lift import VersionOption
from crosscast.messages.console import print_diagnostics

if TYPE_CHECKING:
    from crosscast.api.exploring import Exploration

STDOUT = "-"


def explore(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="A [B]",
            help="A recipe (or - for stdin), or a script or folder with one run; with B, both side "
            "by side.",
        ),
    ],
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="The page, or - for stdout.")
    ],
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            autocompletion=complete_targets,
            metavar="TARGET,...",
            help="Targets; default: all frameworks. Two dialects of one framework are shown side "
            "by side.",
        ),
    ] = None,
    version: VersionOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that is not such a page.")
    ] = False,
) -> int:
    """Write a page that shows which lines of the emitted scripts carry which field."""
    from crosscast.api.exploring import explore

    found = explore(paths, to, version=version or (), out=file_of(output), force=force)
    print_page(found)
    if found.written is not None:
        print(found.written)
    return found.exit_code


def file_of(output: str) -> str | None:
    """Return the file that an option names; None for standard output."""
    return None if output == STDOUT else output


def print_page(found: Exploration) -> None:
    """Print a page that was not written, and why some targets have no script."""
    if found.written is None:
        print(found.page, end="")
    print_diagnostics(found.diagnostics)
