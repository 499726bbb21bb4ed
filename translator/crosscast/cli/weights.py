"""The command `crosscast weights`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crosscast.cli.compile import JsonOption, RecipeArgument
from crosscast.cli.completion import complete_targets
from crosscast.cli.error_handling import positive
from crosscast.cli.progress import waiting
from crosscast.cli.screens import show
from crosscast.messages.console import print_diagnostics, print_json, print_screen

weights_app = typer.Typer(
    no_args_is_help=True,
    help="Find out which weight of one framework's model is which of another's.",
)

Models = Annotated[
    list[str] | None,
    typer.Option(
        "--to",
        autocompletion=complete_targets,
        metavar="TARGET,...",
        help="Targets; default: all that have a factory in the recipe.",
    ),
]
Rows = Annotated[
    Path | None,
    typer.Option(metavar="FILE.npz", help="Rows for the models; default: those of the recipe."),
]
Pythons = Annotated[
    list[str] | None,
    typer.Option(metavar="TARGET=PATH", help="Python interpreter for a target."),
]
Timeout = Annotated[
    float, typer.Option(callback=positive, help="Time limit of a step of a process in seconds.")
]


@weights_app.command("match")
def match_command(
    recipe: RecipeArgument,
    to: Models = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Default: beside the recipe."),
    ] = None,
    rows: Rows = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    python: Pythons = None,
    timeout: Timeout = 300.0,
    json: JsonOption = False,
) -> int:
    """Match the weights of a recipe's models, prove it by running them, and write the map."""
    from crosscast.api.recipes import folder_of
    from crosscast.api.weights import weights_match
    from crosscast.weights.document import NAME

    path = output or folder_of(recipe) / NAME
    with waiting("running the models"):
        found = weights_match(
            recipe, to, rows=rows, python=python or (), timeout=timeout, out=path, force=force
        )
    if json:
        print_json(found.to_json() | {"output": str(path)})
        return found.exit_code
    print_screen(found.head, [*found.parts(), f"written: {path}"])
    print_diagnostics(found.diagnostics)
    return found.exit_code


@weights_app.command("check")
def check_command(
    recipe: RecipeArgument,
    weights: Annotated[
        str,
        typer.Option("--weights", metavar="FILE", help="Default: weights.yaml beside the recipe."),
    ] = "",
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            autocompletion=complete_targets,
            metavar="TARGET,...",
            help="Versions of the frameworks in the file.",
        ),
    ] = None,
    rows: Rows = None,
    python: Pythons = None,
    timeout: Timeout = 300.0,
    json: JsonOption = False,
) -> int:
    """Check a map of weights, such as an edited one, on the models, and prove it again."""
    from crosscast.api.weights import weights_check

    with waiting("running the models"):
        found = weights_check(recipe, weights, to, rows=rows, python=python or (), timeout=timeout)
    if json:
        print_json(found.to_json())
        return found.exit_code
    show(found)
    return found.exit_code
