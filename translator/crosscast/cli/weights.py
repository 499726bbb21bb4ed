"""The command `crosscast weights`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crosscast.cli.compile import JsonOption, RecipeArgument, targets_of
from crosscast.cli.error_handling import positive
from crosscast.messages.console import exit_code, print_diagnostics, print_json, print_table
from crosscast.messages.missing_packages import package_missing

if TYPE_CHECKING:
    from crosscast_parity.weights.command import Request

weights_app = typer.Typer(
    no_args_is_help=True,
    help="Find out which weight of one framework's model is which of another's.",
)

Models = Annotated[
    list[str] | None,
    typer.Option(
        "--to", metavar="T,...", help="Targets; default: all that have a factory in the recipe."
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
    request = _request(recipe, to, rows, python, timeout)
    from crosscast.messages.output import OutputFile, write_files
    from crosscast.weights.document import NAME
    from crosscast.weights.writer import text_of
    from crosscast_parity.weights.command import match
    from crosscast_parity.weights.report import as_json, found_problems, summary, table

    path = output or request.folder / NAME
    if path.exists() and not force:
        from crosscast.messages.diagnostics import failure

        raise failure("CC501", f"{path} exists", "use --force, or -o FILE")
    found = match(request)
    problems = found_problems(found)
    files = {path.name: OutputFile(text_of(found.known))}
    write_files(path.parent, files, force=force, manifest=False)
    if json:
        print_json(as_json(found.known, found.proof, problems, found) | {"output": str(path)})
        return exit_code(problems)
    print_table(("framework", "tensors", "matched", "how"), table(found), long=("how",))
    print(*summary(found.known, found.proof), f"written: {path}", sep="\n")
    print_diagnostics(problems)
    return exit_code(problems)


@weights_app.command("check")
def check_command(
    recipe: RecipeArgument,
    weights: Annotated[
        str,
        typer.Option("--weights", metavar="FILE", help="Default: weights.yaml beside the recipe."),
    ] = "",
    to: Annotated[
        list[str] | None,
        typer.Option("--to", metavar="T,...", help="Versions of the frameworks in the file."),
    ] = None,
    rows: Rows = None,
    python: Pythons = None,
    timeout: Timeout = 300.0,
    json: JsonOption = False,
) -> int:
    """Check a map of weights, such as an edited one, on the models, and prove it again."""
    request = _request(recipe, to, rows, python, timeout)
    from crosscast.weights.document import NAME
    from crosscast_parity.weights.command import check
    from crosscast_parity.weights.report import as_json, problems, summary

    checked = check(request, weights or str(request.folder / NAME))
    found = problems(checked.known, checked.proof, corrections=checked.corrections)
    if json:
        print_json(as_json(checked.known, checked.proof, found))
        return exit_code(found)
    print(*summary(checked.known, checked.proof), sep="\n")
    print_diagnostics(found)
    return exit_code(found)


def _request(
    recipe: str,
    to: list[str] | None,
    rows: Path | None,
    python: list[str] | None,
    timeout: float,
) -> Request:
    from crosscast.readers.recipe_yaml import load

    targets = targets_of(to) if to else []
    loaded = load(recipe)
    try:
        from crosscast_parity.planning.options import read_interpreters
        from crosscast_parity.weights.command import Request, targets_of_models
    except ModuleNotFoundError as error:
        raise package_missing("matching weights needs", error) from None
    folder = Path.cwd() if recipe == "-" else Path(recipe).absolute().parent
    request = Request(recipe=loaded, folder=folder, targets=targets, rows=rows, timeout=timeout)
    from dataclasses import replace

    interpreters = read_interpreters(python or (), targets_of_models(request))
    return replace(request, python=interpreters)
