"""The command `crosscast diff`."""

from __future__ import annotations

from typing import Annotated

import typer

from crosscast.cli.compile import JsonOption
from crosscast.cli.lift import VersionOption
from crosscast.messages.console import print_diagnostics, print_json, print_table

_SIDE = "a recipe, script, launch script, configuration, or folder with one run."


def diff_command(
    left: Annotated[str, typer.Argument(metavar="A", help=f"The left side: {_SIDE}")],
    right: Annotated[
        str, typer.Argument(metavar="B", help="The right side, with the same choices.")
    ],
    version: VersionOption = None,
    json: JsonOption = False,
) -> int:
    """Compare the training that two sources define; exit with 1 if they differ."""
    from crosscast.api.comparing import COLUMNS, diff

    found = diff(left, right, version=version or ())
    if json:
        print_json(found.to_json())
        return found.exit_code
    print_diagnostics(found.diagnostics)
    if found.differences:
        print_table(COLUMNS, found.rows)
    else:
        print("No differences in the fields that both sides specify.")
    if found.unknown:
        names = ", ".join(difference.path for difference in found.unknown)
        print(f"\nNot compared, because at least one side does not specify them: {names}")
    return found.exit_code
