"""The command `crosscast drift`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from crosscast.cli.compile import JsonOption
from crosscast.messages.console import EXIT_OK, print_json, print_text

if TYPE_CHECKING:
    from crosscast.drift.changes import Change


def drift(
    package: Annotated[
        str, typer.Argument(help="torch, tensorflow, keras or paddle.", show_default=False)
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
    from crosscast.api.drifting import drift as drift_of

    found = drift_of(package, since, until, name=name)
    if json:
        print_json(
            {
                "package": package,
                "since": found.since,
                "until": found.until,
                "observed": list(found.observed),
                "changes": [asdict(change) for change in found.changes],
            }
        )
        return EXIT_OK
    print_text(found.summary)
    print_text(f"observed: {', '.join(found.observed)}")
    _show(found.changes, names=names)
    return EXIT_OK


def _show(different: Sequence[Change], *, names: bool) -> None:
    from crosscast.drift.words import behavior_lines, signature_lines

    behavior = [change for change in different if change.kind == "behavior"]
    moved = [change for change in different if change.added or change.removed]
    changed = [change for change in different if change not in behavior and change not in moved]
    for title, some, lines in (
        ("Behavior", behavior, behavior_lines),
        ("Parameters", changed, signature_lines),
        ("Names", moved if names else [], signature_lines),
    ):
        if some:
            print(f"\n{title}")
            print(*(line for change in some for line in lines(change)), sep="\n")
    if moved and not names:
        print(f"\n{len(moved)} names are new or gone: --names lists them")
