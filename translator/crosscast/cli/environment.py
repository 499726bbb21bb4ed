"""Commands about crosscast itself and this machine: init, schema, matrix, doctor."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from crosscast.api.parameters import Parameter
from crosscast.cli.options import ALL, JSON, options_of
from crosscast.cli.screens import show
from crosscast.messages.console import print_json, print_screen
from crosscast.messages.screens import head

if TYPE_CHECKING:
    from crosscast.api.files import Files
    from crosscast.api.supporting import Machine, Matrix


@options_of("supporting.init")
def init_command(
    init: Callable[..., Files],
    path: Annotated[Path, Parameter("File to write.")] = Path("recipe.yaml"),
) -> None:
    """Write a commented starter recipe and the JSON Schema that editors use for completion."""
    names = [path.parent / name for name in init(path.name, out=path.parent)]
    print_screen(
        head(
            "a commented starter recipe, and the schema for editors",
            f"written: {', '.join(map(str, names))}",
            f"edit it, then crosscast check {shlex.quote(str(path))}",
        )
    )


@options_of("supporting.schema")
def schema_command(schema: Callable[..., dict[str, Any]]) -> None:
    """Print the JSON Schema of recipes of a version."""
    from crosscast.recipe.schema import text_of

    print(text_of(schema()), end="")


@options_of("supporting.matrix", without=["about"])
def matrix_command(
    matrix: Callable[..., Matrix],
    *,
    to: list[str] | None,
    only: str | None,
    field: list[str] | None,
    all: Annotated[bool, ALL] = False,
    json: Annotated[bool, JSON] = False,
    markdown: Annotated[bool, Parameter("Print the docs page.")] = False,
    defaults: Annotated[bool, Parameter("Show the default values of framework APIs.")] = False,
    dialects: Annotated[
        bool, Parameter("Show the versions of the targets, with counts of verdicts.")
    ] = False,
) -> None:
    """Show what every target supports: numbers, and what is not exact."""
    _refuse_both(("--json", json), ("--markdown", markdown))
    _refuse_both(("--dialects", dialects), ("--defaults", defaults))
    _refuse_both(("--dialects", dialects), ("--markdown", markdown))
    about: Literal["fields", "defaults", "dialects"] = "fields"
    if defaults or dialects:
        about = "defaults" if defaults else "dialects"
    asked = (("--to", bool(to)), ("--only", bool(only)), ("--field", bool(field)))
    for option in asked:
        _refuse_both(option, ("--markdown", markdown))
    for option in asked[1:]:
        _refuse_both(option, ("--dialects", dialects))
        _refuse_both(option, ("--defaults", defaults))
    support = matrix(about)
    if markdown:
        print(support.markdown, end="")
    elif json:
        print_json(support.rows)
    else:
        show(support, all=all)


def _refuse_both(first: tuple[str, bool], other: tuple[str, bool]) -> None:
    """Refuse two options that exclude each other."""
    if first[1] and other[1]:
        raise typer.BadParameter(f"{first[0]} and {other[0]} exclude each other")


@options_of("supporting.doctor")
def doctor_command(doctor: Callable[..., Machine], *, json: Annotated[bool, JSON] = False) -> int:
    """Report which frameworks are installed here and what they can run natively."""
    this_machine = doctor()
    if json:
        print_json([machine.to_json() for machine in this_machine.targets])
    else:
        show(this_machine)
    return this_machine.exit_code
