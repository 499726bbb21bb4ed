"""The command `crosscast lift`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crosscast.cli.compile import JsonOption
from crosscast.cli.error_handling import positive
from crosscast.cli.progress import progress_bar
from crosscast.cli.screens import AllOption, show_head
from crosscast.messages.console import print_diagnostics, print_json, print_screen
from crosscast.messages.terminal import print_document

if TYPE_CHECKING:
    from crosscast.api.lifting import Lift
    from crosscast_reading.lift.run_proof import RunProof

VersionOption = Annotated[
    list[str] | None,
    typer.Option("--version", metavar="NAME=V", help="Version of a package, such as torch=2.1."),
]


def lift_command(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...", help="Scripts, configurations or folders, or - for stdin."
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="FILE", help="File for the recipe, or - for stdout."
        ),
    ] = "",
    version: VersionOption = None,
    jobs: Annotated[
        int, typer.Option(help="Maximum number of processes; 0 chooses automatically.", min=0)
    ] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that crosscast did not write.")
    ] = False,
    run: Annotated[
        str,
        typer.Option(
            metavar="'SCRIPT ARG...'",
            help="Execute this script and hold the recipe against what it does. Your code is never "
            "executed without this option.",
        ),
    ] = "",
    correct: Annotated[
        bool, typer.Option("--correct", help="With --run: write the values that the run shows.")
    ] = False,
    python: Annotated[
        str,
        typer.Option(metavar="PATH", help="With --run: the interpreter; default: the current one."),
    ] = "",
    device: Annotated[
        Literal["cpu", "gpu"], typer.Option(help="With --run: cpu hides the GPUs from the script.")
    ] = "cpu",
    updates: Annotated[
        int, typer.Option(min=1, help="With --run: number of updates after which a run ends.")
    ] = 100,
    timeout: Annotated[
        float,
        typer.Option(callback=positive, help="With --run: time limit of a run in seconds."),
    ] = 600.0,
    memory: Annotated[
        float, typer.Option(min=0, help="With --run: memory limit of a run in GiB; 0 for none.")
    ] = 0.0,
    all: AllOption = False,
    json: JsonOption = False,
) -> int:
    """Extract the recipe that training scripts and configurations encode."""
    from crosscast.api.lifting import lift

    with progress_bar("reading") as progress:
        found = lift(
            paths,
            version=version or (),
            jobs=jobs,
            run=run,
            correct=correct,
            python=python,
            device=device,
            updates=updates,
            timeout=timeout,
            memory=memory,
            progress=progress,
            on_run=on_run,
        )
    if json:
        print_json(found.to_json())
    if found.proof and found.proof.printed:
        _print_of_program(found.proof)
    if output:
        _write(found, output, force=force)
    elif not json:
        print_screen(found.head, found.parts(all=all))
    if not json:
        print_diagnostics(found.diagnostics)
        if found.proof:
            _print_verdict(found.proof)
    return found.exit_code


def on_run(name: str) -> None:
    """Print what is executed on a terminal."""
    if sys.stderr.isatty():
        print(f"running the {name}", file=sys.stderr)


def _write(found: Lift, output: str, *, force: bool) -> None:
    if output == "-":
        show_head(found)
        print_document(found.text)
        return
    runs = [run for run in found.runs if run.text]
    paths = zip(found.write(output, force=force), runs, strict=True)
    lines = (f"{path}: {run.counts}".removesuffix(": ") for path, run in paths)
    print_screen(found.head, ["\n".join(lines)])


def _print_of_program(proof: RunProof) -> None:
    """Print the end of what the user's program printed, as the program's own words."""
    print(f"--- {proof.command} printed:", file=sys.stderr)
    print(proof.printed, file=sys.stderr)
    print("---", file=sys.stderr)


def _print_verdict(proof: RunProof) -> None:
    if proof.where:
        print(f"ran: {proof.command} ({proof.where})", file=sys.stderr)
    print(f"{proof.sentence}", file=sys.stderr)
    for note in proof.notes:
        print(f"  {note}", file=sys.stderr)
