"""The command `crosscast parity`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from crosscast.cli.compile import RecipeArgument, ToOption, targets_of, warn_of_marks
from crosscast.cli.error_handling import positive
from crosscast.cli.module_parity import EXIT_DIFFERENT, compare_models
from crosscast.emit.folders import compile_to_folders
from crosscast.messages.missing_packages import package_missing

if TYPE_CHECKING:
    from crosscast.recipe.document import Recipe

ADD = "NAME=TARGET[,python=PATH][,recipe=PATH][,script=PATH][,adapter=NAME]"
BERT_ONLY = ("stress", "save_reference", "reference_run")
"""Parameters that a comparison of custom models does not use."""


def parity(
    context: typer.Context,
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
    from crosscast.readers.recipe_yaml import load_placed

    targets = targets_of(to)
    placed = load_placed(recipe)
    warn_of_marks(placed)
    loaded = placed.recipe
    try:
        from crosscast_parity.compare import command
        from crosscast_parity.planning.contestants import (
            check_custom,
            of_targets,
            parse_contestant,
        )
        from crosscast_parity.planning.options import make_options, read_interpreters
        from crosscast_parity.planning.stages import seeds_of
        from crosscast_parity.report.progress import progress_on
        from crosscast_parity.runs.kept_reference import stored_contestant
        from crosscast_parity.self_test.experiments import self_test_command
        from crosscast_parity.weights.command import Request
    except ModuleNotFoundError as error:
        raise package_missing("the parity harness needs", error) from None
    options = make_options(
        output,
        check=check,
        windows=windows,
        twins=twins,
        threads=threads,
        jobs=jobs,
        timeout=timeout,
        memory=memory,
        device=device,
        reference=reference,
        faults=fault,
        half=half,
        cache=cache,
        stress=stress,
        bisect=bisect,
        save_reference=save_reference,
    )
    interpreters = read_interpreters(python or (), targets)
    contestants = of_targets(targets, loaded, interpreters)
    contestants += [parse_contestant(text, loaded, _read, interpreters) for text in add or ()]
    custom = None
    if loaded.model.kind == "custom":
        request = Request(
            recipe=loaded,
            folder=Path.cwd() if recipe == "-" else Path(recipe).absolute().parent,
            targets=targets,
            python=interpreters,
            timeout=timeout,
            seeds=seeds_of(loaded, check),
        )
        unused = _given(context, BERT_ONLY)
        frameworks = [target.partition("@")[0] for target in targets]
        check_custom(contestants, frameworks, request.folder)
        result = compare_models(request, output, unused=unused)
        if not result.same:
            return EXIT_DIFFERENT
        custom = result.trained
        options = replace(options, reference=reference or targets[0])
    if reference_run:
        kept = stored_contestant(reference_run, {contestant.name for contestant in contestants})
        contestants.append(kept)
        options = replace(options, reference=reference or kept.name)
    with progress_on(sys.stderr) as on_progress:
        arguments: dict[str, Any] = {
            "options": options,
            "compile_to": compile_to_folders,
            "on_progress": on_progress,
            "custom": custom,
        }
        if self_test:
            passed: int = self_test_command(contestants, **arguments)
            return passed
        typed = shlex.join(["crosscast", *sys.argv[1:]])
        return command.parity_command(contestants, **arguments, command=typed)


def _given(context: typer.Context, names: Collection[str]) -> list[str]:
    """Return the options on the command line, of those of some parameters."""
    return [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in names
        and (source := context.get_parameter_source(parameter.name)) is not None
        and source.name == "COMMANDLINE"
    ]


def _read(path: Path) -> Recipe:
    from crosscast.readers.recipe_yaml import load

    return load(str(path))
