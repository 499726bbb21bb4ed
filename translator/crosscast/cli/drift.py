"""The command `crosscast drift`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from crosscast.cli.compile import JsonOption
from crosscast.cli.completion import complete_packages
from crosscast.cli.screens import AllOption
from crosscast.messages.console import EXIT_OK, print_json, print_screen
from crosscast.messages.screens import head

if TYPE_CHECKING:
    from crosscast.drift.changes import Change

_FEW = 12
"""Maximum number of functions whose parameters are listed without `--all`."""


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
    from crosscast.drift.changes import changes, observed, release_of
    from crosscast.drift.words import counts
    from crosscast.messages.diagnostics import failure

    found = observed(package)
    first = release_of(found, since) if since else found.releases[0]
    last = release_of(found, until) if until else found.releases[-1]
    if found.releases.index(first) > found.releases.index(last):
        message = f"{package} {first} is newer than {last}"
        raise failure("CC980", message, f"write crosscast drift {package} {last} {first}")
    different = changes(found, first, last, name)
    if json:
        print_json(
            {
                "package": package,
                "since": first,
                "until": last,
                "observed": list(found.releases),
                "changes": [asdict(change) for change in different],
            }
        )
        return EXIT_OK
    about = f"{package} {first} to {last}, observed in {', '.join(found.releases)}"
    which = "" if all else "; --all lists parameters and names"
    next = f"crosscast lint finds what scripts rely on{which}"
    print_screen(head(about, counts(different), next), _parts(different, names or all, all))
    return EXIT_OK


def _parts(different: list[Change], names: bool, all: bool) -> Iterator[str]:
    """Yield what changed: behavior, and parameters and names if they were asked for."""
    from crosscast.drift.words import behavior_lines, signature_lines

    behavior = [change for change in different if change.kind == "behavior"]
    moved = [change for change in different if change.added or change.removed]
    changed = [change for change in different if change not in behavior and change not in moved]
    for title, some, lines in (
        ("Behavior", behavior, behavior_lines),
        ("Parameters", changed if all or len(changed) <= _FEW else [], signature_lines),
        ("Names", moved if names else [], signature_lines),
    ):
        if some:
            yield "\n".join([title, *(line for change in some for line in lines(change))])
    if changed and not all and len(changed) > _FEW:
        yield f"{len(changed)} functions have other parameters: --all lists them"
    if moved and not names:
        yield f"{len(moved)} names are new or gone: --names lists them"
