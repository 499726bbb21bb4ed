"""The command `crosscast sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from crosscast.cli.compile import JsonOption, ToOption, targets_of, warn_of_marks
from crosscast.cli.error_handling import positive
from crosscast.emit.folders import compile_to_folders
from crosscast.messages.console import print_json, print_table
from crosscast.messages.missing_packages import package_missing


def sweep(
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
    from crosscast.readers.recipe_yaml import load_placed

    targets = targets_of(to)
    try:
        from crosscast_parity.planning.options import read_interpreters
        from crosscast_parity.sweep.command import SweepOptions, exit_code, sweep_command
        from crosscast_parity.sweep.executor import Resources
        from crosscast_parity.sweep.grid import make_grid, parse_seeds, parse_settings
        from crosscast_parity.sweep.prepare import Training
        from crosscast_parity.sweep.progress import make_watch
        from crosscast_parity.sweep.table import COLUMNS
    except ModuleNotFoundError as error:
        raise package_missing("sweeps need", error) from None
    for path in recipes:
        warn_of_marks(load_placed(path))
    axes = parse_settings(set_ or ())
    points = make_grid(recipes, targets, parse_seeds(seeds) if seeds else (), axes)
    options = SweepOptions(
        folder=output.absolute(),
        training=Training(
            windows=windows,
            threads=threads,
            device=device,
            timeout=timeout,
            checkpoint_every=checkpoint_every,
            python=read_interpreters(python or (), targets),
        ),
        resources=Resources(
            folder=output.absolute() / "executor",
            jobs=jobs,
            cpus=threads,
            minutes=time,
            memory=mem,
            partition=partition,
            options=dict(text.partition("=")[::2] for text in option or ()),
        ),
        executor=executor,
        retries=retries,
    )
    table = sweep_command(points, options, compile_to=compile_to_folders, watch=make_watch())
    if json:
        print_json(table.to_json())
        return exit_code(table)
    print_table(COLUMNS, table.lines(), long=("settings",))
    for comparison in table.comparisons():
        print(comparison)
    print(f"cells: {output / 'sweep.csv'}, {output / 'sweep.json'}")
    return exit_code(table)
