"""The command `crosscast plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from crosscast.cli.compile import JsonOption, RecipeArgument
from crosscast.cli.completion import complete_devices, complete_targets
from crosscast.cli.error_handling import positive
from crosscast.cli.progress import waiting
from crosscast.cli.screens import AllOption
from crosscast.messages.console import print_diagnostics, print_json, print_screen


def plan_command(
    recipe: RecipeArgument,
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            autocompletion=complete_targets,
            metavar="TARGET,...",
            help="Targets; default: all with a memory model.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory limit of a process, such as 16GiB or 16GB."),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="GPU",
            autocompletion=complete_devices,
            help="Take the limit from a GPU: T4, V100, A100-40, H100, ...",
        ),
    ] = None,
    allow: Annotated[
        Literal["precision"] | None,
        typer.Option(help="Allow other changes: precision changes the numerical results."),
    ] = None,
    answers: Annotated[
        int, typer.Option(min=1, max=100, metavar="N", help="Maximum number of answers.")
    ] = 5,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Folder in which to write every answer as a recipe.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that crosscast did not write.")
    ] = False,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Plot memory by component to a .png or .html file."),
    ] = None,
    measured: Annotated[
        str | None,
        typer.Option(
            metavar="TRACE", help="Compare the estimate with the peak in the trace of a run."
        ),
    ] = None,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace",
            help="Trace your model (PyTorch) or train it for some windows (others). This runs "
            "your code.",
        ),
    ] = False,
    python: Annotated[
        list[str] | None,
        typer.Option(metavar="TARGET=PATH", help="Python interpreter for a target, with --trace."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(callback=positive, help="Time limit of a trace or run in seconds.")
    ] = 600.0,
    all: AllOption = False,
    json: JsonOption = False,
) -> int:
    """Find micro-batch size, accumulation and checkpointing that fit a memory limit.

    Global batch size and schedule do not change. Exits with 1 if a target does not fit.
    """
    from crosscast.api.planning import plan

    with waiting("tracing the model" if trace else ""):
        found = plan(
            recipe,
            to,
            memory=memory,
            device=device,
            allow=allow,
            answers=answers,
            measured=measured,
            trace=trace,
            python=python or (),
            timeout=timeout,
            out=output,
            force=force,
            plot=plot,
        )
    names: dict[str, list[str]] = {}
    if output is not None:
        for target in found.targets:
            if written := found.names(target):
                names[target] = [str(Path(output) / name) for name in written]
    if json:
        print_json(found.to_json(names))
        return found.exit_code
    files = ["\n".join(name for some in names.values() for name in some)] if names else []
    print_screen(found.head, [*found.parts(all=all), *files])
    print_diagnostics(found.diagnostics)
    return found.exit_code
