"""Check that processes, accumulation and one large batch train the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

from crosscast.api import html
from crosscast.api.calls import Texts, Words, public, targets_of, texts_of
from crosscast.api.parameters import INTERPRETERS, RECIPE, TARGETS, Parameter
from crosscast.api.recipes import LoadedRecipe, RecipeLike, folder_of, loaded
from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.missing_packages import package_missing
from crosscast.messages.screens import Part

if TYPE_CHECKING:
    from crosscast_parity.processes.work_done import Progress
    from crosscast_parity.scaling_law.report import ScalingReport

COLUMNS = ("target", "verdict", "why")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Scaling(Result):
    """Whether W processes, W-fold accumulation and one large batch train the same."""

    recipe: LoadedRecipe
    report: ScalingReport
    """Every target with its verdict, runs and checks."""
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def exit_code(self) -> Exit:
        """0 if all are equal, 3 if a target cannot run here, else 1."""
        from crosscast_parity.scaling_law.command import exit_code

        return Exit(exit_code(self.report))

    @property
    def summary(self) -> str:
        """The verdict on every target."""
        return "\n".join(f"{t.target}: {t.verdict}: {t.wording}" for t in self.report.targets)

    @property
    def lines(self) -> list[str]:
        """The report in lines of at most 80 columns."""
        return [*self.report.lines()]

    @property
    def junit(self) -> str:
        """The checks as JUnit XML, a suite per target."""
        from crosscast_parity.scaling_law.outputs import scaling_junit

        return scaling_junit(self.report)

    @property
    def badge(self) -> str:
        """The worst verdict as an SVG image, green only if everything was tested."""
        from crosscast_parity.scaling_law.outputs import scaling_badge

        return scaling_badge(self.report).svg()

    def to_json(self) -> dict[str, Any]:
        """Return plain data; docs/reference/scaling-law.md describes the keys."""
        return self.report.to_json()

    @property
    def _about(self) -> str:
        return f"{self.recipe.source.name} ({self.recipe.name}) on {_listed(self.report)}"

    @property
    def _verdict(self) -> str:
        return "; ".join(
            f"{target_report.target}: {target_report.verdict}"
            for target_report in self.report.targets
        )

    @property
    def _next(self) -> str:
        if self.ok:
            return "train with as many processes as you have: crosscast compile"
        return "see the checks that failed below"

    def _parts(self, *, all: bool) -> Iterator[Part]:
        yield "\n".join(self.lines)

    def _html(self) -> Iterator[str]:
        rows = [(t.target, t.verdict, t.wording) for t in self.report.targets]
        yield html.table(COLUMNS, rows, long=("why",))
        yield html.folded("all runs", html.pre("\n".join(self.lines)))


def _listed(report: ScalingReport) -> str:
    return ", ".join(target_report.target for target_report in report.targets)


@public
def check_scaling(
    recipe: Annotated[RecipeLike, RECIPE],
    to: Annotated[Words, TARGETS],
    *,
    processes: Annotated[
        int | None,
        Parameter("Number of processes; default: that of the recipe, at least 2.", least=2),
    ] = None,
    windows: Annotated[int, Parameter("Optimizer steps per run.", least=4)] = 12,
    stress: Annotated[bool, Parameter("Use settings that activate every feature.")] = False,
    keep_model: Annotated[bool, Parameter("Use the recipe's model instead of a tiny one.")] = False,
    out: str | os.PathLike[str] | None = None,
    timeout: Annotated[
        float,
        Parameter(
            "Terminate a run after this many seconds without a finished window.", positive=True
        ),
    ] = 180.0,
    half: Annotated[
        Literal["auto", "native", "emulated"],
        Parameter("How to compute half precision; auto emulates it."),
    ] = "auto",
    python: Annotated[Texts, INTERPRETERS] = (),
    on_progress: Callable[[Progress], None] | None = None,
) -> Scaling:
    """Check that W processes, W-fold accumulation and one large batch train the same.

    Args:
        out: New folder to keep scripts and runs in; without it, they are deleted.
        on_progress: Called whenever a run begins or ends.

    Raises:
        DiagnosticError: the recipe or an argument is invalid, or a requirement is missing.
    """
    targets = targets_of(to)
    given = loaded(recipe)
    from crosscast.emit.folders import compile_to_folders

    try:
        from crosscast_parity.compare.harness import ignore
        from crosscast_parity.planning.contestants import of_targets
        from crosscast_parity.planning.options import read_interpreters
        from crosscast_parity.scaling_law.command import check_scaling as check
        from crosscast_parity.scaling_law.command import place
        from crosscast_parity.scaling_law.outputs import write_outputs
        from crosscast_parity.scaling_law.recipes import make_subject
        from crosscast_parity.scaling_law.runs import Settings
    except ModuleNotFoundError as error:
        raise package_missing("check-scaling needs", error) from None
    of_targets(targets, given.fields, {})  # refuses targets without a script
    interpreters = read_interpreters(texts_of(python), targets)
    subject = make_subject(
        given.fields,
        processes=processes,
        windows=windows,
        stress=stress,
        keep_model=keep_model,
        folder=folder_of(recipe),
    )
    with ExitStack() as stack:
        if out is None:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="crosscast-")))
        else:
            folder = place(Path(out))
        settings = Settings(
            folder=folder,
            compile_to=compile_to_folders,
            on_progress=on_progress or ignore,
            stall=timeout,
            half=half,
        )
        report = check(given.fields, subject, targets, settings, interpreters)
        if out is not None:
            write_outputs(report, folder)
    return Scaling(recipe=given, report=report, diagnostics=given.open)
