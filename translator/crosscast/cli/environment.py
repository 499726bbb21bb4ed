"""Commands about crosscast itself and this machine: init, schema, matrix, doctor."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from crosscast.cli.compile import FieldOption, JsonOption, OnlyOption
from crosscast.cli.screens import AllOption, show
from crosscast.messages.console import print_json, print_screen
from crosscast.messages.screens import head


def init_command(
    path: Annotated[Path, typer.Argument(help="File to write.")] = Path("recipe.yaml"),
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Write a commented starter recipe and the JSON Schema that editors use for completion."""
    from crosscast.api.supporting import init

    names = [path.parent / name for name in init(path.name, out=path.parent, force=force)]
    print_screen(
        head(
            "a commented starter recipe, and the schema for editors",
            f"written: {', '.join(map(str, names))}",
            f"edit it, then crosscast check {shlex.quote(str(path))}",
        )
    )


def schema_command() -> None:
    """Print the JSON Schema of recipes."""
    from crosscast.recipe.schema import schema_text

    print(schema_text(), end="")


def matrix_command(
    to: Annotated[
        list[str] | None, typer.Option("--to", metavar="T,...", help="Targets; default: all.")
    ] = None,
    only: OnlyOption = None,
    field: FieldOption = None,
    all: AllOption = False,
    json: JsonOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the docs page.")] = False,
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Show the default values of framework APIs.")
    ] = False,
    dialects: Annotated[
        bool,
        typer.Option(
            "--dialects", help="Show the versions of the targets, with counts of verdicts."
        ),
    ] = False,
) -> None:
    """Show what every target supports: numbers, and what is not exact."""
    _refuse_both(("--json", json), ("--markdown", markdown))
    _refuse_both(("--dialects", dialects), ("--defaults", defaults))
    _refuse_both(("--dialects", dialects), ("--markdown", markdown))
    from crosscast.api.supporting import matrix

    about: Literal["fields", "defaults", "dialects"] = "fields"
    if defaults or dialects:
        about = "defaults" if defaults else "dialects"
    asked = (("--to", bool(to)), ("--only", bool(only)), ("--field", bool(field)))
    for option in asked:
        _refuse_both(option, ("--markdown", markdown))
    for option in asked[1:]:
        _refuse_both(option, ("--dialects", dialects))
        _refuse_both(option, ("--defaults", defaults))
    found = matrix(about, to, only=only, field=field)
    if markdown:
        print(found.markdown, end="")
    elif json:
        print_json(found.rows)
    else:
        show(found, all=all)


def _refuse_both(first: tuple[str, bool], other: tuple[str, bool]) -> None:
    """Refuse two options that exclude each other."""
    if first[1] and other[1]:
        raise typer.BadParameter(f"{first[0]} and {other[0]} exclude each other")


def doctor_command(json: JsonOption = False) -> int:
    """Report which frameworks are installed here and what they can run natively."""
    from crosscast.api.supporting import doctor

    found = doctor()
    if json:
        print_json([machine.to_json() for machine in found.targets])
    else:
        show(found)
    return found.exit_code
