"""The command `crosscast drift`."""

from __future__ import annotations

from typing import Annotated

import typer

from crosscast.cli.compile import JsonOption
from crosscast.cli.completion import complete_packages
from crosscast.cli.screens import AllOption
from crosscast.messages.console import print_json, print_screen


def drift(
    package: Annotated[
        str,
        typer.Argument(
            help="torch, tensorflow, keras or paddle.",
            autocompletion=complete_packages,
            show_default=False,
        ),
    ],
    since: Annotated[
        str, typer.Argument(help="The first release. Default: the oldest observed.")
    ] = "",
    until: Annotated[
        str, typer.Argument(help="The last release. Default: the newest observed.")
    ] = "",
    name: Annotated[
        str,
        typer.Option(help="Only what has this word, or fits this pattern, in its name."),
    ] = "*",
    names: Annotated[
        bool, typer.Option("--names", help="List new names and names that are gone, too.")
    ] = False,
    all: AllOption = False,
    json: JsonOption = False,
) -> int:
    """Show what releases of a framework do differently, as observed by running them."""
    from crosscast.api.drifting import drift
    from crosscast.drift.words import lines_of

    found = drift(package, since, until, name=name)
    if json:
        print_json(found.to_json())
        return found.exit_code
    parts = list(found.parts(all=all))
    if names and not all and found.names:
        parts[-1] = "\n".join(["Names", *(line for c in found.names for line in lines_of(c))])
    print_screen(found.head, parts)
    return found.exit_code
