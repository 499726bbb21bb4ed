"""The command `crosscast diff`."""

from __future__ import annotations

from typing import Annotated

import typer

from crosscast.cli.compile import JsonOption
from crosscast.cli.lift import VersionOption
from crosscast.cli.screens import show
from crosscast.messages.console import print_json

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
    from crosscast.api.comparing import diff

    found = diff(left, right, version=version or ())
    if json:
        print_json(found.to_json())
        return found.exit_code
    show(found)
    return found.exit_code
