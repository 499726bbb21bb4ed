"""Training scripts and configurations to recipes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from crosscast.api import html
from crosscast.api.calls import Paths, Texts, named_versions, paths_of, public
from crosscast.api.files import Files, counted
from crosscast.api.parameters import (
    FORCE,
    JOBS,
    RUN_DEVICE,
    RUN_MEMORY,
    RUN_PYTHON,
    RUN_TIMEOUT,
    RUN_UPDATES,
    VERSIONS,
    Parameter,
)
from crosscast.api.recipes import LoadedRecipe, read
from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_CANNOT_RUN, EXIT_FINDINGS, EXIT_OK, EXIT_USAGE
from crosscast.messages.console import exit_code as exit_code_of
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, failure
from crosscast.messages.screens import Part, Table

if TYPE_CHECKING:
    from crosscast_reading.lift.report import Report
    from crosscast_reading.lift.run_proof import RunProof

_LISTED = 3
"""Maximum number of runs that are summarized."""
RUN_COLUMNS = ("field", "value", "run", "evidence")


@dataclass(frozen=True, slots=True, repr=False)
class LiftedRun(Result):
    """The recipe that the sources of one training run encode."""

    _report: Report

    @property
    def name(self) -> str:
        """The main source."""
        return self._report.name

    @property
    def sources(self) -> tuple[str, ...]:
        """The files that belong to the run."""
        return self._report.sources

    @property
    def text(self) -> str:
        """The recipe as YAML, with the origin of every value; empty if nothing trains here."""
        return self._report.text

    @property
    def rows(self) -> tuple[tuple[str, str, str], ...]:
        """Field, value and origin of every field of the recipe."""
        return self._report.rows

    @property
    def recipe(self) -> LoadedRecipe:
        """The recipe. Values that no source contains are marked FILL IN.

        Raises:
            DiagnosticError: what was read makes no valid recipe.
        """
        from crosscast.messages.source import Source

        if not self.text:
            raise DiagnosticError(*self.diagnostics)
        folder = Path(self.name).parent if not self.name.startswith("<") else Path()
        return read(Source(str(folder / "recipe.yaml"), self.text))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was not understood, contradictions and missing values."""
        return self._report.diagnostics

    @property
    def exit_code(self) -> Exit:
        """0 without errors."""
        return exit_code_of(self.diagnostics)

    @property
    def counts(self) -> str:
        """How many values are read, derived, defaults or assumed, in words; empty without any."""
        return self._report.summary

    @property
    def summary(self) -> str:
        """The name, and how many values are of each kind."""
        return f"{self.name}: {self.counts or 'no recipe'}"

    @property
    def _about(self) -> str:
        return ", ".join(self.sources)

    @property
    def _next(self) -> str:
        from crosscast_reading.lift.report import what_next

        return what_next([self.to_json()["counts"]] if self.text else [])

    def _parts(self, *, all: bool) -> Iterator[Part]:
        from crosscast_reading.lift.report import COLUMNS, is_certain

        shown = [row for row in self.rows if all or not is_certain(row)]
        if shown:
            yield Table(COLUMNS, shown, long=("from",))
        hidden = len(self.rows) - len(shown)
        if hidden:
            yield f"{counted(hidden, 'more value')} with their places: --all shows them."

    def to_json(self) -> dict[str, Any]:
        """Return plain data as `schema/lift-v1.json` describes it."""
        return self._report.data

    def _html(self) -> Iterator[str]:
        from crosscast_reading.lift.report import COLUMNS

        if self.rows:
            yield html.table(COLUMNS, self.rows, long=("value", "from"))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Lift(Result):
    """The recipes that sources encode, one for every training run."""

    paths: tuple[str, ...]
    runs: tuple[LiftedRun, ...]
    problems: tuple[Diagnostic, ...]
    """Files that cannot be read."""
    diagnostics: tuple[Diagnostic, ...]
    """The problems, and the diagnostics of all runs."""
    proof: RunProof | None = None
    """What the run of the program says of every field, with `run`."""

    @property
    def recipe(self) -> LoadedRecipe:
        """The recipe of the only run.

        Raises:
            DiagnosticError: CC919 if there is not exactly one, or as `LiftedRun.recipe`.
        """
        return self._only("there is one recipe for one run").recipe

    @property
    def text(self) -> str:
        """The recipes as YAML documents."""
        return "---\n".join(run.text for run in self._written)

    @property
    def exit_code(self) -> Exit:
        """0 if everything was read, and fits the run of the program if there was one."""
        code = exit_code_of(self.diagnostics)
        if self.proof is not None:
            if code:
                return code
            if self.proof.problem:
                return EXIT_CANNOT_RUN
            return EXIT_FINDINGS if self.proof.unexplained else EXIT_OK
        if any(problem.code.startswith("CC0") for problem in self.problems):
            return EXIT_USAGE
        unread = any(self._is_unread(run) for run in self.runs)
        return EXIT_FINDINGS if unread or code else EXIT_OK

    @property
    def summary(self) -> str:
        """How many runs were found, and how their values were."""
        from crosscast_reading.lift.report import in_words

        runs = [run for run in self.runs if run.rows]
        words = [run.summary if len(runs) > 1 else run.counts for run in runs]
        if len(runs) > _LISTED:
            words = [f"{len(runs)} runs: {in_words([run.to_json()['counts'] for run in runs])}"]
        words += [self.proof.sentence] if self.proof else []
        return "\n".join(words) or f"{', '.join(self.paths)}: nothing trains here"

    @property
    def _about(self) -> str:
        return ", ".join(self.paths)

    @property
    def _next(self) -> str:
        from crosscast_reading.lift.report import what_next

        return what_next([run.to_json()["counts"] for run in self.runs if run.text])

    def _parts(self, *, all: bool) -> Iterator[Part]:
        from crosscast_reading.lift.report import runs_table

        if self.proof:
            from crosscast_reading.lift.run_proof import run_cells

            if self.proof.fields:
                yield Table(RUN_COLUMNS, [*run_cells(self.proof)], long=("evidence",))
            return
        runs = [run for run in self.runs if run.rows]
        if len(runs) > _LISTED and not all:
            yield runs_table([(run.name, run.to_json()["counts"]) for run in runs])
            return
        for run in runs:
            if len(runs) > 1:
                yield f"== {', '.join(run.sources)}"
            yield from run.parts(all=all)

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> tuple[Path, ...]:
        """Write the recipe to a file, or all recipes into a folder; return the paths.

        Args:
            path: a file for a single recipe, or a folder: one that exists or ends in a slash.
            force: overwrite files that crosscast did not write.

        Raises:
            DiagnosticError: CC919 for several recipes and one file, CC501 to CC503.
        """
        text = os.fspath(path)
        target = Path(text)
        from crosscast.messages.output import OutputFile

        if not (target.is_dir() or text.endswith("/")):
            run = self._only("-o names a single file")
            file = Files({target.name: OutputFile(run.text)}, False)
            return file.write(target.parent, force=force)
        names: dict[str, OutputFile] = {}
        for run in self._written:
            stem = Path(run.name.strip("<>")).stem
            name, count = f"{stem}.recipe.yaml", 2
            while name in names:
                name, count = f"{stem}-{count}.recipe.yaml", count + 1
            names[name] = OutputFile(run.text)
        Files(names, False).write(target, force=force)
        return tuple(target / name for name in names)

    def to_json(self) -> dict[str, Any]:
        """Return plain data as `schema/lift-v1.json` describes it."""
        data = [run.to_json() for run in self.runs]
        if self.proof is not None:
            from crosscast_reading.lift.run_proof import run_json

            data = [{**data[0], "run": run_json(self.proof)}]
        problems = [problem.to_json() for problem in self.problems]
        return {"version": 1, "groups": data, "diagnostics": problems}

    @property
    def _written(self) -> tuple[LiftedRun, ...]:
        return tuple(run for run in self.runs if run.text)

    def _only(self, what: str) -> LiftedRun:
        if len(self._written) != 1:
            message = f"{what}, but {len(self._written)} runs were found"
            hint = "pass a folder to -o, or name the files of one run"
            raise failure("CC919", message, hint)
        return self._written[0]

    def _is_unread(self, run: LiftedRun) -> bool:
        """Whether the user named a program that cannot be read, and nothing else was found."""
        from crosscast_reading.lift.drafting import is_unread

        named = any(source in self.paths for source in run.sources)
        return named and not run.rows and is_unread(run.diagnostics)

    def _html(self) -> Iterator[str]:
        if self.proof is not None and self.proof.fields:
            from crosscast_reading.lift.run_proof import run_cells

            yield html.table(RUN_COLUMNS, run_cells(self.proof), long=("evidence",))
        for run in self.runs:
            tables = "".join(run._html())
            yield html.folded(", ".join(run.sources), tables) if len(self.runs) > 1 else tables


Progress = Callable[[int, int], None]
"""Called with the number of finished parts and of all."""


@public
def lift(
    paths: Annotated[
        Paths, Parameter("Scripts, configurations or folders, or - for stdin.", "PATH...")
    ],
    *,
    out: str | os.PathLike[str] | None = None,
    version: Annotated[Texts, VERSIONS] = (),
    jobs: Annotated[int, JOBS] = 0,
    force: Annotated[bool, FORCE] = False,
    run: Annotated[
        str,
        Parameter(
            "Execute this script and hold the recipe against what it does. Your code is never "
            "executed without it.",
            "'SCRIPT ARG...'",
        ),
    ] = "",
    correct: Annotated[bool, Parameter("With `run`: write the values that the run shows.")] = False,
    python: Annotated[str, RUN_PYTHON] = "",
    device: Annotated[Literal["cpu", "gpu"], RUN_DEVICE] = "cpu",
    updates: Annotated[int, RUN_UPDATES] = 100,
    timeout: Annotated[float, RUN_TIMEOUT] = 600.0,
    memory: Annotated[float, RUN_MEMORY] = 0.0,
    progress: Progress | None = None,
    on_run: Callable[[str], None] | None = None,
) -> Lift:
    """Extract the recipe that training scripts and configurations encode. They are only parsed.

    Args:
        out: File or folder to write the recipes to, see `Lift.write`; without it, nothing is
            written.
        progress: Called with the number of finished runs and of all.
        on_run: With `run`: called with what is executed.

    Raises:
        DiagnosticError: an argument is invalid, the recipe cannot be written, or with `run`, the
            sources are not one run or a requirement is missing.
    """
    from crosscast_reading.lift.batch import groups_of, lift_groups, read_sources

    named, versions = paths_of(paths), named_versions(version)
    if run:
        from crosscast_reading.lift.run_proof import Demand

        demand = Demand(
            command=run,
            python=python,
            device=device,
            updates=updates,
            timeout=timeout,
            memory=memory,
        )
        lifted = _proven(named, versions, demand, correct, on_run or (lambda name: None))
    else:
        if correct:
            raise failure("CC919", "--correct needs --run")
        sources, problems = read_sources(named)
        groups = groups_of(sources, named)
        reports = lift_groups(
            groups, versions, jobs=jobs, progress=progress or (lambda done, total: None)
        )
        diagnostics = [*problems, *(d for report in reports for d in report.diagnostics)]
        if not reports and not problems:
            message = f"{', '.join(named)}: no file belongs to a training run"
            diagnostics.append(Diagnostic(code="CC915", message=message))
        lifted = Lift(
            paths=tuple(named),
            runs=tuple(LiftedRun(report) for report in reports),
            problems=tuple(problems),
            diagnostics=tuple(diagnostics),
        )
    if out is not None:
        lifted.write(out, force=force)
    return lifted


def _proven(
    paths: Sequence[str],
    versions: Mapping[str, str],
    demand: Any,
    correct: bool,
    on_run: Callable[[str], None],
) -> Lift:
    """Read one run, execute its program, and hold the recipe against what it does."""
    from crosscast_reading.lift.batch import only_run
    from crosscast_reading.lift.report import report
    from crosscast_reading.lift.run_proof import prove_by_run, run_diagnostics, unless_refuted

    lifted, problems = only_run(paths, versions)
    proof = prove_by_run(lifted, demand, on_run)
    written = proof.corrected if correct else lifted
    told = run_diagnostics(proof, corrected=correct)
    return Lift(
        paths=tuple(paths),
        runs=(LiftedRun(report(written)),),
        problems=tuple(problems),
        diagnostics=(*problems, *unless_refuted(lifted.diagnostics, proof), *told),
        proof=proof,
    )
