"""The command `crosscast lift`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from crosscast.cli.options import ALL, JSON, options_of, output
from crosscast.cli.progress import progress_bar
from crosscast.cli.screens import show_head
from crosscast.messages.console import print_diagnostics, print_json, print_screen
from crosscast.messages.terminal import print_document

if TYPE_CHECKING:
    from crosscast.api.lifting import Lift
    from crosscast_reading.lift.run_proof import RunProof


@options_of("lifting.lift", output="paths")
def lift_command(
    lift: Callable[..., Lift],
    *,
    output: Annotated[str, output("File for the recipe, or - for stdout.", "FILE")] = "",
    force: bool,
    all: Annotated[bool, ALL] = False,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Extract the recipe that training scripts and configurations encode."""
    with progress_bar("reading") as progress:
        lifted = lift(progress=progress, on_run=on_run)
    if json:
        print_json(lifted.to_json())
    if lifted.proof and lifted.proof.printed:
        _print_of_program(lifted.proof)
    if output:
        _write(lifted, output, force=force)
    elif not json:
        print_screen(lifted.head, lifted.parts(all=all))
    if not json:
        print_diagnostics(lifted.diagnostics)
        if lifted.proof:
            _print_verdict(lifted.proof)
    return lifted.exit_code


def on_run(name: str) -> None:
    """Print what is executed on a terminal."""
    if sys.stderr.isatty():
        print(f"running the {name}", file=sys.stderr)


def _write(lifted: Lift, output: str, *, force: bool) -> None:
    if output == "-":
        show_head(lifted)
        print_document(lifted.text)
        return
    runs = [run for run in lifted.runs if run.text]
    paths = zip(lifted.write(output, force=force), runs, strict=True)
    lines = (f"{path}: {run.counts}".removesuffix(": ") for path, run in paths)
    print_screen(lifted.head, ["\n".join(lines)])


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
