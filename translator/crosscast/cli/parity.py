"""The command `crosscast parity`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crosscast.cli.compile import RecipeArgument, ToOption
from crosscast.cli.error_handling import positive
from crosscast.messages.console import print_diagnostics, print_screen
from crosscast.messages.missing_packages import package_missing

if TYPE_CHECKING:
    from crosscast.api.parity import Parity

ADD = "NAME=TARGET[,python=PATH][,recipe=PATH][,script=PATH][,adapter=NAME]"


def parity_command(
    recipe: RecipeArgument,
    to: ToOption,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", help="Folder for the runs and the report."),
    ],
    check: Annotated[
        Literal["quick", "model", "full", "nightly"],
        typer.Option(
            help="quick: a tiny model, or yours for a few windows; model: the recipe's model."
        ),
    ] = "quick",
    stress: Annotated[
        bool, typer.Option("--stress", help="Derive a recipe in which every feature is active.")
    ] = False,
    add: Annotated[
        list[str] | None,
        typer.Option(
            metavar=ADD, help="Add another version, recipe, script or trainer to the comparison."
        ),
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="Program that the others are compared with; default: torch.")
    ] = None,
    bisect: Annotated[
        bool, typer.Option("--bisect", help="Name the fields that explain a difference.")
    ] = False,
    self_test: Annotated[
        bool,
        typer.Option(
            "--self-test", help="Plant known bugs and check that every level detects its own."
        ),
    ] = False,
    windows: Annotated[
        int | None, typer.Option(min=1, help="Optimizer steps of a run.", show_default="64")
    ] = None,
    twins: Annotated[
        int, typer.Option(min=0, help="Number of perturbed runs of the reference.")
    ] = 3,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WINDOW:MICRO=inf|-inf|nan[@NAMES]",
            help="Inject an overflow, optionally only into the gradients of these parameters; "
            "`none` disables the default faults.",
        ),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads per process.")] = 1,
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of parallel processes.")] = None,
    timeout: Annotated[
        float, typer.Option(callback=positive, help="Time limit of a run in seconds.")
    ] = 1800.0,
    memory: Annotated[
        float, typer.Option(min=0, help="Memory limit of a process in GiB; 0 for none.")
    ] = 0.0,
    device: Annotated[Literal["cpu", "gpu"], typer.Option(help="Device to train on.")] = "cpu",
    half: Annotated[
        Literal["auto", "native", "emulated"],
        typer.Option(help="How to compute half precision; auto emulates it on CPUs."),
    ] = "auto",
    save_reference: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Store the runs of the reference in this folder."),
    ] = None,
    reference_run: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Compare with runs stored by --save-reference."),
    ] = None,
    python: Annotated[
        list[str] | None,
        typer.Option(metavar="TARGET=PATH", help="Python interpreter for a target."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder with finished runs; default: in --output."),
    ] = None,
) -> int:
    """Train programs on the same weights and batches and compare them, level by level."""
    from crosscast.api.parity import parity
    from crosscast.api.recipes import load

    loaded = load(recipe)
    print_diagnostics(loaded.open)
    try:
        from crosscast_parity.report.progress import progress_on
    except ModuleNotFoundError as error:
        raise package_missing("the parity harness needs", error) from None
    with progress_on(sys.stderr) as on_progress:
        found = parity(
            loaded,
            to,
            check=check,
            stress=stress,
            add=add or (),
            reference=reference,
            bisect=bisect,
            self_test=self_test,
            windows=windows,
            twins=twins,
            fault=fault,
            threads=threads,
            jobs=jobs,
            timeout=timeout,
            memory=memory,
            device=device,
            half=half,
            save_reference=save_reference,
            reference_run=reference_run,
            python=python or (),
            cache=cache,
            out=output,
            command=shlex.join(["crosscast", *sys.argv[1:]]),
            on_progress=on_progress,
        )
    _print(found, output)
    print_diagnostics(found.diagnostics)
    return found.exit_code


def _print(found: Parity, output: Path) -> None:
    """Print what was found, and where more is written."""
    from crosscast_parity.report.terminal import print_summary

    print_screen(found.head)
    print()

    if found.models is not None:
        from crosscast_parity.modules.report import text_of

        print(*text_of(found.models), sep="\n")
        if found.models.matched:
            from crosscast.weights.document import NAME

            print(f"weights were matched on the way: {output / NAME}")
        print(f"report: {output / 'modules.txt'}", flush=True)
        if found.report is None and found.page is not None:
            print(f"html: {found.page}")
    if found.self_test:
        print(*found.lines, sep="\n")
        print(f"html: {found.page}")
    elif found.report is not None:
        print_summary(found.report, files=[found.page] if found.page else [])
