"""The command `crosscast drift`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crosscast.cli.compile import JsonOption
from crosscast.cli.completion import complete_packages
from crosscast.messages.console import print_json, print_text

if TYPE_CHECKING:
    from crosscast.api.drifting import Drift


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
    json: JsonOption = False,
) -> int:
    """Show what releases of a framework do differently, as observed by running them."""
    from crosscast.api.drifting import drift

    found = drift(package, since, until, name=name)
    if json:
        print_json(found.to_json())
        return found.exit_code
    print_text(found.summary)
    print_text(f"observed: {', '.join(found.observed)}")
    _show(found, names=names)
    return found.exit_code


def _show(found: Drift, *, names: bool) -> None:
    from crosscast.drift.words import lines_of

    for title, changes in (
        ("Behavior", found.behavior),
        ("Parameters", found.parameters),
        ("Names", found.names if names else ()),
    ):
        if changes:
            print(f"\n{title}")
            print(*(line for change in changes for line in lines_of(change)), sep="\n")
    if found.names and not names:
        print(f"\n{len(found.names)} names are new or gone: --names lists them")
