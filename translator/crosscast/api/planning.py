"""Make a recipe fit a memory limit."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from crosscast.api import html
from crosscast.api.calls import Texts, Words, public, targets_of, texts_of
from crosscast.api.files import Files, counted
from crosscast.api.parameters import FORCE, RECIPE, Parameter, targets
from crosscast.api.recipes import LoadedRecipe, RecipeLike, loaded
from crosscast.api.result import Result
from crosscast.api.solving import solve_all
from crosscast.messages.code import Exit
from crosscast.messages.console import exit_code as exit_code_of
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, failure
from crosscast.messages.screens import Part, Table

if TYPE_CHECKING:
    from crosscast.fit.devices import GpuModel
    from crosscast.fit.measured_peak import MeasuredPeak
    from crosscast.fit.model_traces import Estimates, Seen
    from crosscast.fit.solver import Outcome, Request
    from crosscast.memory.records import Estimate
    from crosscast.recipe.document import Recipe

NEEDS_LIMIT = "no memory limit: pass --memory SIZE or --device GPU"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MemoryPlan(Result):
    """Settings with which a recipe fits a memory limit, for every target."""

    recipe: LoadedRecipe
    targets: tuple[str, ...]
    outcomes: tuple[Outcome, ...] = ()
    """What was found for every target with a memory model; empty without a limit."""
    diagnostics: tuple[Diagnostic, ...] = ()
    request: Request | None = None
    """The limit."""
    measured: MeasuredPeak | None = None
    """The peak in the trace of a run, with `measured`."""
    estimate: Estimate | None = None
    """The estimate of the unchanged recipe, with `measured`."""

    @property
    def files(self) -> Files:
        """Every answer as a copy of the recipe with the changed values."""
        from crosscast.fit.candidates import changes
        from crosscast.fit.editing import edited
        from crosscast.messages.output import OutputFile
        from crosscast.recipe.yaml_text import recipe_text

        files: dict[str, OutputFile] = {}
        for name, outcome, number in self._answers():
            answer = outcome.answers[number]
            changed = changes(self.recipe.fields, answer.candidate)
            text = edited(self.recipe.source.text, changed, answer.recipe, recipe_text)
            files[name] = OutputFile(text)
        return Files(files)

    def names(self, target: str) -> tuple[str, ...]:
        """Return the names of the files with the answers for a target, in their order."""
        return tuple(name for name, outcome, _ in self._answers() if outcome.target == target)

    def _answers(self) -> Iterator[tuple[str, Outcome, int]]:
        from crosscast.targets.backend import find_target

        for outcome in self.outcomes:
            folder = find_target(outcome.target).folder
            for number in range(len(outcome.answers)):
                yield f"{folder}/answer-{number + 1}.yaml", outcome, number

    def write(self, folder: str | os.PathLike[str], *, force: bool = False) -> tuple[Path, ...]:
        """Write every answer as a recipe. See `Files.write`."""
        return self.files.write(folder, force=force)

    @public
    def plot(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Plot memory by component to a .png or .html file.

        Raises:
            DiagnosticError: CC401 without the harness, CC463 for another ending, CC501 if the file
                exists.
        """
        from crosscast.messages.missing_packages import package_missing

        check_plot(path)
        try:
            from crosscast_parity.memory.plot import write_plot
        except ModuleNotFoundError as error:
            raise package_missing("--plot needs", error) from None
        write_plot(self.outcomes, self.recipe.name, Path(path), force=force)

    @property
    def exit_code(self) -> Exit:
        """1 if a target does not fit."""
        return exit_code_of(self.diagnostics)

    @property
    def summary(self) -> str:
        """On which targets the unchanged recipe fits, and how far off an estimate was."""
        from crosscast.fit.outcome_tables import fits_words

        words = [fits_words(self.outcomes)] if self.outcomes else []
        if self.measured is not None and self.estimate is not None:
            off = 100 * self.measured.error_of(self.estimate.peak_bytes)
            words.append(f"the estimate is {off:+.1f} % off the measured peak")
        return "; ".join(words) or f"nothing was planned for {self.recipe.name}"

    @property
    def _about(self) -> str:
        return _looked_at(self)

    @property
    def _next(self) -> str:
        if self.request is None:
            return "--memory SIZE or --device GPU asks for settings that fit"
        answers = sum(len(outcome.answers) for outcome in self.outcomes)
        if not answers:
            return "read the messages below: they say what would help"
        return f"choose from the {counted(answers, 'answer')} below: -o FOLDER has them as recipes"

    def _parts(self, *, all: bool) -> Iterator[Part]:
        from crosscast.fit.measured_peak import measured_rows
        from crosscast.fit.outcome_tables import outcome_parts

        peak, estimate = self.measured, self.estimate
        if peak is not None and estimate is not None:
            title = f"{self.targets[0]}: highest peak in {peak.rows} rows of {peak.file}"
            yield Table(("", "bytes", "error"), measured_rows(peak, estimate), title=title)
        device = self.request.device if self.request else None
        yield from outcome_parts(self.outcomes, device.name if device else "", all=all)

    def to_json(self, names: dict[str, list[str]] | None = None) -> dict[str, Any]:
        """Return plain data.

        Args:
            names: of files with answers, by target.
        """
        from crosscast.fit.measured_peak import measured_json
        from crosscast.fit.outcome_tables import to_json

        data: dict[str, Any] = {"recipe": self.recipe.name}
        if self.measured is not None and self.estimate is not None:
            data["measured"] = measured_json(self.measured, self.estimate)
        if self.request is not None:
            data["limit_bytes"] = self.request.limit
            data["device"] = self.request.device.name if self.request.device else None
            data["targets"] = to_json(self.recipe.fields, self.outcomes, names or {})
        return data | {"diagnostics": [diagnostic.to_json() for diagnostic in self.diagnostics]}

    def _html(self) -> Iterator[str]:
        from crosscast.fit.measured_peak import measured_rows
        from crosscast.fit.outcome_tables import ANSWERS, answer_rows, component_table

        if self.measured is not None and self.estimate is not None:
            yield html.table(("", "bytes", "error"), measured_rows(self.measured, self.estimate))
        for outcome in self.outcomes:
            yield html.paragraph(f"{outcome.target}:")
            yield html.table(ANSWERS, answer_rows(outcome))
            yield html.folded("memory by component", html.table(*component_table(outcome)))


def _looked_at(planned: MemoryPlan) -> str:
    from crosscast.fit.memory_sizes import show_bytes

    limit = f", limit {show_bytes(planned.request.limit)}" if planned.request else ""
    recipe = f"{planned.recipe.source.name} ({planned.recipe.name})"
    return f"{recipe} on {', '.join(planned.targets)}{limit}"


def check_plot(path: str | os.PathLike[str]) -> None:
    """Refuse a name that is that of no plot.

    Raises:
        DiagnosticError: CC463.
    """
    if Path(path).suffix.lower() not in (".png", ".html"):
        raise failure("CC463", f"--plot {os.fspath(path)}: must end in .png or .html")


@public
def plan(
    recipe: Annotated[RecipeLike, RECIPE],
    to: Annotated[Words | None, targets("Targets; default: all with a memory model.")] = None,
    *,
    memory: Annotated[
        str | None, Parameter("Memory limit of a process, such as 16GiB or 16GB.", "SIZE")
    ] = None,
    device: Annotated[
        str | None,
        Parameter(
            "Take the limit from a GPU: T4, V100, A100-40, H100, ...", "GPU", words="devices"
        ),
    ] = None,
    allow: Annotated[
        Literal["precision"] | None,
        Parameter("Allow other changes: precision changes the numerical results."),
    ] = None,
    answers: Annotated[int, Parameter("Maximum number of answers.", "N", least=1, most=100)] = 5,
    out: str | os.PathLike[str] | None = None,
    force: Annotated[bool, FORCE] = False,
    plot: Annotated[
        str | os.PathLike[str] | None,
        Parameter("Plot memory by component to a .png or .html file.", "FILE"),
    ] = None,
    measured: Annotated[
        str | os.PathLike[str] | None,
        Parameter("Compare the estimate with the peak in the trace of a run.", "TRACE"),
    ] = None,
    trace: Annotated[
        bool,
        Parameter(
            "Trace your model (PyTorch) or train it for some windows (others). This runs your code."
        ),
    ] = False,
    python: Annotated[
        Texts, Parameter("Python interpreter for a target, with `trace`.", "TARGET=PATH")
    ] = (),
    timeout: Annotated[
        float, Parameter("Time limit of a trace or run in seconds.", positive=True)
    ] = 600.0,
) -> MemoryPlan:
    """Find micro-batch size, accumulation and checkpointing that fit a memory limit.

    Global batch size and schedule do not change.

    Args:
        out: Folder to write every answer to as a recipe; without it, nothing is written.

    Raises:
        DiagnosticError: the recipe or an argument is invalid, a requirement is missing, or a file
            cannot be written. That a target does not fit is part of the result.
    """
    from crosscast.fit.measured_peak import read_measured
    from crosscast.targets.backend import program_names

    targets = targets_of(to) if to else program_names()
    given = loaded(recipe)
    message = ""
    if not (memory or device) and not measured:
        message = NEEDS_LIMIT
    elif not (memory or device) and (out is not None or plot is not None):
        message = "-o and --plot need --memory or --device"
    elif measured and len(targets) != 1:
        message = "--measured needs exactly one target: choose it with --to"
    elif out is not None and not os.fspath(out):
        message = "-o needs a folder; use . for the current one"
    if message:
        raise failure("CC463", message)
    if plot is not None:
        check_plot(plot)
    request = _request(memory, device, bool(allow), answers) if memory or device else None
    estimates = _estimates(
        given, targets, texts_of(python), timeout, request.device if request else None, trace=trace
    )
    diagnostics = list(given.diagnostics)
    peak = read_measured(os.fspath(measured), given.fields) if measured else None
    estimate = None
    if peak:
        diagnostics += peak.warnings
        try:
            estimate = estimates.of(given.fields, targets[0])
        except DiagnosticError as error:
            raise given.placed.placed(error) from None
    outcomes: list[Outcome] = []
    if request:
        outcomes = solve_all(given, targets, bool(to), request, diagnostics, estimates)
    planned = MemoryPlan(
        recipe=given,
        targets=tuple(targets),
        outcomes=tuple(outcomes),
        diagnostics=tuple(diagnostics),
        request=request,
        measured=peak,
        estimate=estimate,
    )
    if any(solved.answers for solved in outcomes):
        if plot is not None:
            planned.plot(plot, force=force)
        if out is not None:
            planned.write(out, force=force)
    return planned


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


def _needs_a_run(target: str) -> bool:
    """Whether the memory of the shipped BERT is not simulated there, but can be found."""
    from crosscast.memory.estimate import has_model, way_of
    from crosscast.targets.backend import find_target

    chosen = find_target(target)
    return not has_model(chosen) and way_of(chosen) is not None


def _estimates(
    recipe: LoadedRecipe,
    targets: Sequence[str],
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

    bert = isinstance(recipe.fields.model, BertModel)
    if trace and bert and not any(map(_needs_a_run, targets)):
        raise failure(
            "CC463", "--trace is for custom models; the memory of the shipped BERT is known"
        )
    if python and not trace:
        raise failure("CC463", "--python needs --trace")
    if not trace:
        return Estimates(None, gpu)
    try:
        from crosscast_parity.memory.processes import trace_model
        from crosscast_parity.memory.short_runs import measure_model
        from crosscast_parity.planning.options import read_interpreters
    except ModuleNotFoundError as error:
        from crosscast.messages.missing_packages import package_missing

        raise package_missing("--trace needs", error) from None
    interpreters = read_interpreters(python, targets)

    def look(recipe: Recipe, target: str, traced: bool) -> Seen:
        interpreter = interpreters.get(target, sys.executable)
        if traced:
            return trace_model(recipe, interpreter, folder=Path(), timeout=timeout)
        return measure_model(recipe, target, interpreter, folder=Path(), timeout=timeout)

    return Estimates(look, gpu)
