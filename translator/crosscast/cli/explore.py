"""The command `crosscast explore`, and the page that other commands write beside their files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crosscast.api.calls import named_versions, targets_of
from crosscast.cli.completion import complete_targets
from crosscast.cli.lift import VersionOption
from crosscast.messages.console import EXIT_FINDINGS, EXIT_OK, print_diagnostics
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError

if TYPE_CHECKING:
    from crosscast.explore.subject import Side

STDOUT = "-"
_SIDES = 2


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
    from crosscast.explore.reading import side_at
    from crosscast.targets.backend import program_names

    if len(paths) > _SIDES:
        message = f"{len(paths)} recipes or scripts; a page shows one or two"
        hint = "with a script, those that it starts or imports are found beside it"
        raise DiagnosticError(Diagnostic(code="CC021", message=message, hint=hint))
    targets = targets_of(to) if to else program_names()
    versions = named_versions(version or [])
    sides = [side_at(path, targets, versions) for path in paths]
    code = write_page(sides, targets, output, force=force)
    if output != STDOUT:
        print(output)
    return code


def write_page(sides: Sequence[Side], targets: Sequence[str], output: str, *, force: bool) -> int:
    """Write the page of one or two recipes; return 1 if a target cannot express one.

    Raises:
        DiagnosticError: No target can express a recipe; CC501 to CC503 for the file.
    """
    from crosscast.explore.page import explorer_page
    from crosscast.messages.output import OutputFile, write_files

    path = Path(output)
    if output != STDOUT and (not path.name or path.is_dir()):
        message = f"-o needs a file, {output or 'an empty name'} is none"
        raise DiagnosticError(Diagnostic(code="CC503", message=message))
    page = explorer_page(sides, targets)
    if output == STDOUT:
        print(page.text, end="")
    else:
        files = {path.name: OutputFile(page.text)}
        write_files(path.parent, files, force=force or _is_page(path), manifest=False)
    print_diagnostics(page.refusals)
    return EXIT_FINDINGS if page.refusals else EXIT_OK


def _is_page(path: Path) -> bool:
    """Whether a file was written by this command."""
    from crosscast.explore.page import MADE

    try:
        with path.open("rb") as stream:
            return stream.read(len(MADE)) == MADE.encode()
    except OSError:
        return False
