"""The command `crosscast check-scaling`."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

import typer

from crosscast.cli.compile import JsonOption, RecipeArgument, ToOption, targets_of, warn_of_marks
from crosscast.cli.error_handling import positive
from crosscast.emit.folders import compile_to_folders
from crosscast.messages.console import print_json
from crosscast.messages.missing_packages import package_missing


def check_scaling(
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
    from crosscast.readers.recipe_yaml import load_placed

    targets = targets_of(to)
    loaded = load_placed(recipe)
    warn_of_marks(loaded)
    try:
        from crosscast_parity.planning.contestants import of_targets
        from crosscast_parity.planning.options import read_interpreters
        from crosscast_parity.report.progress import progress_on
        from crosscast_parity.scaling_law.command import check_scaling as check
        from crosscast_parity.scaling_law.command import exit_code, place
        from crosscast_parity.scaling_law.recipes import make_subject
        from crosscast_parity.scaling_law.runs import Settings
    except ModuleNotFoundError as error:
        raise package_missing("check-scaling needs", error) from None
    of_targets(targets, loaded.recipe, {})  # refuses targets without a script
    interpreters = read_interpreters(python or (), targets)
    subject = make_subject(
        loaded.recipe,
        processes=processes,
        windows=windows,
        stress=stress,
        keep_model=keep_model,
        folder=Path.cwd() if recipe == "-" else Path(recipe).absolute().parent,
    )
    with ExitStack() as stack:
        folder = (
            place(output)
            if output
            else Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crosscast-")))
        )
        settings = Settings(
            folder=folder,
            compile_to=compile_to_folders,
            on_progress=stack.enter_context(progress_on(sys.stderr)),
            stall=timeout,
            half=half,
        )
        report = check(loaded.recipe, subject, targets, settings, interpreters)
    if json:
        print_json(report.to_json())
    else:
        print(*report.lines(), sep="\n")
    return exit_code(report)
