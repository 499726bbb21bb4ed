"""The command `crosscast sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from crosscast.cli.compile import JsonOption, ToOption
from crosscast.cli.completion import complete_settings
from crosscast.cli.error_handling import positive
from crosscast.cli.screens import show
from crosscast.messages.console import print_diagnostics, print_json
from crosscast.messages.missing_packages import package_missing


def sweep_command(
    recipes: Annotated[list[str], typer.Argument(metavar="RECIPE...", help="Recipe files.")],
    to: ToOption,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Folder of the sweep; an existing sweep is continued.",
        ),
    ],
    seeds: Annotated[
        list[str] | None,
        typer.Option(metavar="N,N-N,...", help="Seeds; default: the seed of each recipe."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            autocompletion=complete_settings,
            metavar="PATH=VALUE",
            help="Set a recipe field; repeat a path to add values to the grid.",
        ),
    ] = None,
    windows: Annotated[
        int | None, typer.Option(min=1, help="Optimizer steps; default: those of the recipe.")
    ] = None,
    executor: Annotated[
        str, typer.Option(metavar="NAME", help="How to run the cells: local, slurm or a plug-in.")
    ] = "local",
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Cells to run at a time; local default: the number of cores."),
    ] = None,
    threads: Annotated[int, typer.Option("--threads", "--cpus", min=1, help="Cores per cell.")] = 1,
    timeout: Annotated[
        float | None,
        typer.Option(callback=positive, help="Time limit of an attempt in seconds; default: none."),
    ] = None,
    retries: Annotated[
        int, typer.Option(min=0, help="Number of retries after a cell was killed.")
    ] = 3,
    checkpoint_every: Annotated[
        int | None,
        typer.Option(min=1, help="Checkpoint interval in windows; default: that of the scripts."),
    ] = None,
    device: Annotated[Literal["cpu", "gpu"], typer.Option(help="Device to train on.")] = "cpu",
    python: Annotated[
        list[str] | None,
        typer.Option(metavar="TARGET=PATH", help="Python interpreter for a target."),
    ] = None,
    partition: Annotated[str, typer.Option(help="SLURM partition.")] = "",
    time: Annotated[
        int | None,
        typer.Option(min=1, metavar="MINUTES", help="SLURM time limit of an attempt; default: 60."),
    ] = None,
    mem: Annotated[str, typer.Option(help="SLURM memory per cell, such as 4G.")] = "",
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=VALUE]", help="Option for the executor; SLURM: any option of sbatch."
        ),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Train recipes x targets x seeds x settings; repeat the command to continue."""
    from crosscast.api.recipes import load
    from crosscast.api.sweeping import sweep

    for path in recipes:
        print_diagnostics(load(path).open)
    try:
        from crosscast_parity.sweep.progress import make_watch
    except ModuleNotFoundError as error:
        raise package_missing("sweeps need", error) from None
    found = sweep(
        recipes,
        to,
        out=output,
        seeds=seeds or (),
        set=set_ or (),
        windows=windows,
        executor=executor,
        jobs=jobs,
        threads=threads,
        timeout=timeout,
        retries=retries,
        checkpoint_every=checkpoint_every,
        device=device,
        python=python or (),
        partition=partition,
        time=time,
        mem=mem,
        option=option or (),
        watch=make_watch(),
    )
    if json:
        print_json(found.to_json())
        return found.exit_code
    show(found)
    print(f"cells: {output / 'sweep.csv'}, {output / 'sweep.json'}")
    return found.exit_code
