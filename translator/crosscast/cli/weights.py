"""The command `crosscast weights`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crosscast.cli.options import JSON, options_of, output
from crosscast.cli.progress import waiting
from crosscast.cli.screens import show
from crosscast.messages.console import print_diagnostics, print_json, print_screen

if TYPE_CHECKING:
    from crosscast.api.weights import Weights

weights_app = typer.Typer(
    no_args_is_help=True,
    help="Find out which weight of one framework's model is which of another's.",
)


@weights_app.command("match")
@options_of("weights.weights_match", output="to")
def match_command(
    weights_match: Callable[..., Weights],
    *,
    recipe: str,
    output: Annotated[Path | None, output("Default: beside the recipe.", "FILE")] = None,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Match the weights of a recipe's models, prove it by running them, and write the map."""
    from crosscast.api.recipes import folder_of
    from crosscast.weights.document import NAME

    path = output or folder_of(recipe) / NAME
    with waiting("running the models"):
        weights = weights_match(out=path)
    if json:
        print_json(weights.to_json() | {"output": str(path)})
        return weights.exit_code
    print_screen(weights.head, [*weights.parts(), f"written: {path}"])
    print_diagnostics(weights.diagnostics)
    return weights.exit_code


@weights_app.command("check")
@options_of("weights.weights_check")
def check_command(
    weights_check: Callable[..., Weights], *, json: Annotated[bool, JSON] = False
) -> int:
    """Check a map of weights, such as an edited one, on the models, and prove it again."""
    with waiting("running the models"):
        weights = weights_check()
    if json:
        print_json(weights.to_json())
        return weights.exit_code
    show(weights)
    return weights.exit_code
