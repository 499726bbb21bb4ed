"""The command `crosscast diff`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crosscast.cli.compile import JsonOption
from crosscast.cli.lift import VersionOption, named_versions
from crosscast.messages.console import (
    EXIT_FINDINGS,
    EXIT_OK,
    print_diagnostics,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from crosscast.lift.recipe_diff import Difference, Side
    from crosscast.messages.diagnostics import Span

_SIDE = "a recipe, script, launch script, configuration, or folder with one run."


def diff(
    left: Annotated[str, typer.Argument(metavar="A", help=f"The left side: {_SIDE}")],
    right: Annotated[
        str, typer.Argument(metavar="B", help="The right side, with the same choices.")
    ],
    version: VersionOption = None,
    json: JsonOption = False,
) -> int:
    """Compare the training that two sources define; exit with 1 if they differ."""
    from crosscast.lift.recipe_diff import differences, side_of

    versions = named_versions(version or [])
    sides = side_of(left, versions), side_of(right, versions)
    found = list(differences(*sides))
    if json:
        print_json(_as_json(sides, found))
    else:
        print_diagnostics([diagnostic for side in sides for diagnostic in side.diagnostics])
        _show(found)
    return (
        EXIT_FINDINGS if any(difference.state == "different" for difference in found) else EXIT_OK
    )


def _show(found: Sequence[Difference]) -> None:
    from crosscast.lift.annotated_yaml import scalar

    different = [difference for difference in found if difference.state == "different"]
    unknown = [difference for difference in found if difference.state == "unknown"]
    if different:
        columns = ("field", "left", "right", "left at", "right at")
        rows = [
            (d.path, scalar(d.left), scalar(d.right), _at(d.left_places), _at(d.right_places))
            for d in different
        ]
        print_table(columns, rows)
    else:
        print("No differences in the fields that both sides specify.")
    if unknown:
        names = ", ".join(difference.path for difference in unknown)
        print(f"\nNot compared, because at least one side does not specify them: {names}")


def _at(places: Sequence[Span]) -> str:
    return f"{places[0].file}:{places[0].line}" if places else "-"


def _as_json(sides: Sequence[Side], found: Sequence[Difference]) -> dict[str, Any]:
    from crosscast.lift.report import place

    return {
        "left": sides[0].path,
        "right": sides[1].path,
        "differences": [
            {
                "field": difference.path,
                "state": difference.state,
                "left": difference.left,
                "right": difference.right,
                "left_places": [place(p) for p in difference.left_places],
                "right_places": [place(p) for p in difference.right_places],
            }
            for difference in found
        ],
        "diagnostics": [d.to_json() for side in sides for d in side.diagnostics],
    }
