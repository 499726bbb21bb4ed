"""The command `crosscast plan`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from crosscast.cli.compile import JsonOption, RecipeArgument, targets_of
from crosscast.cli.error_handling import positive
from crosscast.messages.console import exit_code, print_diagnostics, print_json, print_table
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity
from crosscast.recipe.yaml_text import recipe_text

if TYPE_CHECKING:
    from crosscast.fit.devices import GpuModel
    from crosscast.fit.measured_peak import MeasuredPeak
    from crosscast.fit.model_traces import Estimates, Seen
    from crosscast.fit.solver import Outcome, Request
    from crosscast.messages.source import Source
    from crosscast.readers.recipe_yaml import Loaded
    from crosscast.recipe.document import Recipe

MOST_ANSWERS = 100
_NOT_FOR_IT = ("CC305", "CC401", "CC451")
"""Codes of default targets to skip: no model factory, no framework, or no memory model."""


@dataclass(frozen=True, slots=True)
class _Selection:
    """The recipe and the requested targets."""

    source: Source
    loaded: Loaded
    targets: list[str]
    chosen: bool
    """Whether the user named the targets."""


@dataclass(frozen=True, slots=True)
class _Files:
    """Options for the files to write."""

    folder: str | None
    plot: str | None
    force: bool


def plan(
    recipe: RecipeArgument,
    to: Annotated[
        list[str] | None,
        typer.Option("--to", metavar="T,...", help="Targets; default: all with a memory model."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory limit of a process, such as 16GiB or 16GB."),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(metavar="GPU", help="Take the limit from a GPU: T4, V100, A100-40, H100, ..."),
    ] = None,
    allow: Annotated[
        Literal["precision"] | None,
        typer.Option(help="Allow other changes: precision changes the numerical results."),
    ] = None,
    answers: Annotated[
        int, typer.Option(min=1, max=MOST_ANSWERS, metavar="N", help="Maximum number of answers.")
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
    json: JsonOption = False,
) -> int:
    """Find micro-batch size, accumulation and checkpointing that fit a memory limit.

    Global batch size and schedule do not change. Exits with 1 if a target does not fit.
    """
    from crosscast.fit.measured_peak import read_measured

    selection = _selection(recipe, to)
    _check_options(selection, memory or device, output, plot, measured)
    request = _request(memory, device, bool(allow), answers) if memory or device else None
    gpu = request.device if request else None
    estimates = _estimates(selection, python or (), timeout, gpu, trace=trace)
    found: list[Diagnostic] = list(selection.loaded.notices())
    peak = read_measured(measured, selection.loaded.recipe) if measured else None
    data: dict[str, Any] = {"recipe": selection.loaded.recipe.name}
    if peak:
        found += peak.warnings
        data["measured"] = _compare(selection, peak, estimates, as_json=json)
    if request:
        files = _Files(output, plot, force)
        data |= _solve_all(selection, request, found, estimates, files, as_json=json)
    if json:
        print_json(data | {"diagnostics": [diagnostic.to_json() for diagnostic in found]})
    else:
        print_diagnostics(found)
    return exit_code(found)


def _selection(recipe: str, to: Sequence[str] | None) -> _Selection:
    from crosscast.messages.source import read_source
    from crosscast.readers.recipe_yaml import Loaded
    from crosscast.recipe.validate import build_recipe
    from crosscast.recipe.yaml_source import MAX_BYTES, parse
    from crosscast.targets.backend import program_names

    targets = targets_of(to) if to else program_names()
    source = read_source(recipe, max_bytes=MAX_BYTES)
    document = parse(source.text, source.name)
    return _Selection(source, Loaded(build_recipe(document), document), targets, bool(to))


def _check_options(
    selection: _Selection,
    limit: str | None,
    output: str | None,
    plot: str | None,
    measured: str | None,
) -> None:
    """Refuse invalid combinations of options."""
    message = ""
    if not limit and not measured:
        message = "no memory limit: pass --memory SIZE or --device GPU"
    elif not limit and (output is not None or plot is not None):
        message = "-o and --plot need --memory or --device"
    elif measured and len(selection.targets) != 1:
        message = "--measured needs exactly one target: choose it with --to"
    elif output == "":
        message = "-o needs a folder; use . for the current one"
    elif plot is not None and Path(plot).suffix.lower() not in (".png", ".html"):
        message = f"--plot {plot}: must end in .png or .html"
    if message:
        raise DiagnosticError(Diagnostic(code="CC463", message=message))


def _request(memory: str | None, device: str | None, precision: bool, most: int) -> Request:
    from crosscast.fit.devices import find_device
    from crosscast.fit.memory_sizes import parse_memory
    from crosscast.fit.solver import Request

    model = find_device(device) if device else None
    if memory:
        limit = parse_memory(memory)
    else:
        assert model is not None
        limit = model.usable_bytes
    return Request(limit=limit, device=model, precision=precision, most=most)


def _estimates(
    selection: _Selection,
    python: Sequence[str],
    timeout: float,
    gpu: GpuModel | None,
    *,
    trace: bool,
) -> Estimates:
    """Return the estimator, which runs the user's model only with `trace`.

    Raises:
        DiagnosticError: CC463 for invalid options, CC401 without the harness, CC707 for an
            interpreter without a target.
    """
    from crosscast.fit.model_traces import Estimates
    from crosscast.recipe.document import BertModel

    message = ""
    if trace and isinstance(selection.loaded.recipe.model, BertModel):
        message = "--trace is for custom models; the memory of the shipped BERT is known"
    elif python and not trace:
        message = "--python needs --trace"
    if message:
        raise DiagnosticError(Diagnostic(code="CC463", message=message))
    if not trace:
        return Estimates(None, gpu)
    try:
        from crosscast_parity.memory.processes import trace_model
        from crosscast_parity.memory.short_runs import measure_model
        from crosscast_parity.planning.options import read_interpreters
    except ModuleNotFoundError as error:
        from crosscast.messages.missing_packages import package_missing

        raise package_missing("--trace needs", error) from None
    interpreters = read_interpreters(python, selection.targets)

    def look(recipe: Recipe, target: str, traced: bool) -> Seen:
        interpreter = interpreters.get(target, sys.executable)
        if traced:
            return trace_model(recipe, interpreter, folder=Path(), timeout=timeout)
        return measure_model(recipe, target, interpreter, folder=Path(), timeout=timeout)

    return Estimates(look, gpu)


def _compare(
    selection: _Selection, peak: MeasuredPeak, estimates: Estimates, *, as_json: bool
) -> dict[str, Any]:
    """Compare a measured peak with the estimate of the unchanged recipe."""
    from crosscast.fit.measured_peak import measured_json, measured_rows

    try:
        found = estimates.of(selection.loaded.recipe, selection.targets[0])
    except DiagnosticError as error:
        raise selection.loaded.placed(error) from None
    if not as_json:
        print(f"{selection.targets[0]}: highest peak in {peak.rows} rows of {peak.file}")
        print_table(("", "bytes", "error"), measured_rows(peak, found))
    return measured_json(peak, found)


def _solve_all(
    selection: _Selection,
    request: Request,
    found: list[Diagnostic],
    estimates: Estimates,
    files: _Files,
    *,
    as_json: bool,
) -> dict[str, Any]:
    """Solve for every target, print and write the answers; problems go to `found`.

    A problem of one target does not affect the others.
    """
    from crosscast.fit.explanations import cannot_fit, not_native
    from crosscast.fit.outcome_tables import remarks, to_json

    recipe = selection.loaded.recipe
    foreign = not_native(recipe, request)
    if foreign:
        raise selection.loaded.placed(DiagnosticError(foreign))
    outcomes: list[Outcome] = []
    skipped: list[Diagnostic] = []
    for target in selection.targets:
        try:
            outcome = _solve(recipe, target, request, estimates)
        except DiagnosticError as error:
            placed = selection.loaded.placed(error).diagnostics
            problems = [
                diagnostic for diagnostic in placed if diagnostic.severity is Severity.ERROR
            ]
            skip = not selection.chosen and any(problem.code in _NOT_FOR_IT for problem in problems)
            kept = skipped if skip else found
            kept += [problem for problem in problems if problem not in kept]
            continue
        outcomes.append(outcome)
        if not outcome.answers:
            # Short runs take too long to be made for a hint.
            asks = not request.precision and outcome.now.estimate.evidence != "measured"
            helps = asks and _fits_otherwise(recipe, target, request, estimates)
            found.append(cannot_fit(outcome, request, with_precision=helps))
    found += remarks(recipe, outcomes)
    final = outcomes or exit_code(found)
    found += [replace(problem, severity=Severity.NOTE) if final else problem for problem in skipped]
    if not as_json:
        _print(outcomes, request)
    names: dict[str, list[str]] = {}
    if any(solved.answers for solved in outcomes):
        if files.plot:
            _draw(outcomes, recipe.name, Path(files.plot), force=files.force)
        if files.folder:
            names = _write(selection, outcomes, Path(files.folder), force=files.force)
            if not as_json:
                print(*(name for some in names.values() for name in some), sep="\n")
    return {
        "limit_bytes": request.limit,
        "device": request.device.name if request.device else None,
        "targets": to_json(recipe, outcomes, names),
    }


def _solve(recipe: Recipe, target: str, request: Request, estimates: Estimates) -> Outcome:
    from crosscast.emit.compiler import compile_recipe
    from crosscast.fit.solver import solve

    def check(variant: Recipe) -> None:
        compile_recipe(variant, [target])

    return solve(
        recipe, target, request, estimate=lambda variant: estimates.of(variant, target), check=check
    )


def _fits_otherwise(recipe: Recipe, target: str, request: Request, estimates: Estimates) -> bool:
    """Whether there is an answer with another precision."""
    try:
        return bool(
            _solve(recipe, target, replace(request, precision=True, most=1), estimates).answers
        )
    except DiagnosticError:  # a trace in another precision
        return False


def _print(outcomes: Sequence[Outcome], request: Request) -> None:
    from crosscast.fit.devices import ASSUMED
    from crosscast.fit.memory_sizes import show_bytes
    from crosscast.fit.outcome_tables import ANSWERS, answer_rows, component_table

    rates = request.device.name if request.device else f"{ASSUMED}: no --device"
    for outcome in outcomes:
        needs, limit = show_bytes(outcome.now.estimate.total), show_bytes(outcome.limit)
        fits = "fits" if outcome.now.estimate.total <= outcome.limit else "does not fit"
        print(f"{outcome.target}: the unchanged recipe needs {needs} and {fits} into {limit}")
        evidence = outcome.now.estimate.evidence
        print(f"({evidence}; cost relative to now, at the rates of {rates})")
        print_table(ANSWERS, answer_rows(outcome))
        print()
        head, rows = component_table(outcome)
        print_table(head, rows)
        print()


def _draw(outcomes: Sequence[Outcome], recipe: str, path: Path, *, force: bool) -> None:
    from crosscast.messages.missing_packages import package_missing

    try:
        from crosscast_parity.memory.plot import write_plot
    except ModuleNotFoundError as error:
        raise package_missing("--plot needs", error) from None
    write_plot(outcomes, recipe, path, force=force)


def _write(
    selection: _Selection, outcomes: Sequence[Outcome], folder: Path, *, force: bool
) -> dict[str, list[str]]:
    """Write every answer as an edited copy of the user's recipe; return the names by target."""
    from crosscast.fit.candidates import changes
    from crosscast.fit.editing import edited
    from crosscast.messages.output import OutputFile, write_files
    from crosscast.targets.backend import find_target

    files: dict[str, OutputFile] = {}
    names: dict[str, list[str]] = {}
    for outcome in outcomes:
        for number, answer in enumerate(outcome.answers, 1):
            name = f"{find_target(outcome.target).folder}/answer-{number}.yaml"
            changed = changes(selection.loaded.recipe, answer.candidate)
            text = edited(selection.source.text, changed, answer.recipe, recipe_text)
            files[name] = OutputFile(text)
            names.setdefault(outcome.target, []).append(str(folder / name))
    write_files(folder, files, force=force)
    return names
