"""The command `crosscast check-scaling`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from crosscast.cli.compile import JsonOption, RecipeArgument, ToOption
from crosscast.cli.error_handling import positive
from crosscast.cli.screens import show
from crosscast.messages.console import print_diagnostics, print_json
from crosscast.messages.missing_packages import package_missing


def check_scaling_command(
    recipe: RecipeArgument,
    to: ToOption,
    processes: Annotated[
        int | None,
        typer.Option(min=2, help="Number of processes; default: that of the recipe, at least 2."),
    ] = None,
    windows: Annotated[int, typer.Option(min=4, help="Optimizer steps per run.")] = 12,
    stress: Annotated[
        bool, typer.Option("--stress", help="Use settings that activate every feature.")
    ] = False,
    keep_model: Annotated[
        bool, typer.Option("--keep-model", help="Use the recipe's model instead of a tiny one.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Folder in which to keep scripts and runs."
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            callback=positive,
            help="Terminate a run after this many seconds without a finished window.",
        ),
    ] = 180.0,
    half: Annotated[
        Literal["auto", "native", "emulated"],
        typer.Option(help="How to compute half precision; auto emulates it."),
    ] = "auto",
    python: Annotated[
        list[str] | None,
        typer.Option(metavar="TARGET=PATH", help="Python interpreter for a target."),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Check that W processes, W-fold accumulation and one large batch train the same."""
    from crosscast.api.recipes import load
    from crosscast.api.scaling import check_scaling

    loaded = load(recipe)
    print_diagnostics(loaded.open)
    try:
        from crosscast_parity.report.progress import progress_on
    except ModuleNotFoundError as error:
        raise package_missing("check-scaling needs", error) from None
    with progress_on(sys.stderr) as on_progress:
        found = check_scaling(
            loaded,
            to,
            processes=processes,
            windows=windows,
            stress=stress,
            keep_model=keep_model,
            timeout=timeout,
            half=half,
            python=python or (),
            out=output,
            on_progress=on_progress,
        )
    if json:
        print_json(found.to_json())
    else:
        show(found)
    return found.exit_code
