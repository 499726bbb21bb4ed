"""The command that trains the emitted scripts and compares them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crosscast.cli_compile import RecipeArgument, ToOption, targets_of
from crosscast.diagnostics import Diagnostic, DiagnosticError

if TYPE_CHECKING:
    from crosscast.recipe import Recipe


def parity(
    recipe: RecipeArgument,
    to: ToOption,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for runs and report.")
    ],
    windows: Annotated[
        int | None, typer.Option(help="Optimizer steps of a run; default: all of the recipe.")
    ] = None,
    twins: Annotated[int, typer.Option(help="Perturbed runs of the reference.")] = 3,
    reference: Annotated[
        str | None, typer.Option(help="Target the others are compared with; default torch.")
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WINDOW:MICRO=inf|-inf|nan[@NAMES]",
            help="Inject an overflow, into the gradients of these parameters; `none` for none.",
        ),
    ] = None,
    threads: Annotated[int, typer.Option(help="CPU threads of a process.")] = 1,
    jobs: Annotated[int | None, typer.Option(help="Processes side by side.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds for one process.")] = 1800.0,
    device: Annotated[Literal["cpu", "gpu"], typer.Option(help="Where to train.")] = "cpu",
    half: Annotated[
        Literal["auto", "native", "emulated"],
        typer.Option(help="How half precision is computed; auto: native where there is any."),
    ] = "auto",
    python: Annotated[
        list[str] | None, typer.Option(metavar="TARGET=PATH", help="Interpreter of a target.")
    ] = None,
) -> int:
    """Train the emitted scripts on the same weights and batches and compare them step by step."""
    from crosscast.readers.recipe_yaml import load

    targets = targets_of(to)
    older = [name for name in targets if "@" in name]
    if older:
        message = f"parity runs the newest dialect of a framework, not {older[0]}"
        raise DiagnosticError(Diagnostic(code="CC707", message=message))
    loaded = load(recipe)
    try:
        from crosscast_parity.cli import parity_command
        from crosscast_parity.options import make_options
    except ModuleNotFoundError as error:
        raise DiagnosticError(
            Diagnostic(
                code="CC401",
                message=f"the parity harness needs {error.name}",
                hint='pip install "crosscast[parity]"',
            )
        ) from None
    options = make_options(
        targets,
        output,
        windows=windows,
        twins=twins,
        threads=threads,
        jobs=jobs,
        timeout=timeout,
        device=device,
        python=python or (),
        reference=reference,
        faults=fault,
        half=half,
    )
    return parity_command(
        loaded, options=options, compile_to=_compile_to, echo=print, on_end=_say_end
    )


def _compile_to(recipe: Recipe, targets: Sequence[str], directory: Path) -> None:
    from crosscast.compiler import compile_recipe
    from crosscast.output import write_files

    files = {
        f"{one.target.folder}/{path}": file
        for one in compile_recipe(recipe, targets)
        for path, file in one.files.items()
    }
    write_files(directory, files, force=True)


def _say_end(name: str, outcome: object) -> None:
    kind, seconds = getattr(outcome, "kind", ""), getattr(outcome, "seconds", 0.0)
    print(f"{name}: {kind} after {seconds:.0f} s", file=sys.stderr, flush=True)
