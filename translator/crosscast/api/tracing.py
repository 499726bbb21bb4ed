"""Runs that are made, for the tools that show runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from crosscast.api import html
from crosscast.api.calls import Path as PathLike
from crosscast.api.calls import Paths, paths_of, public
from crosscast.api.files import counted
from crosscast.api.parameters import Parameter
from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_OK
from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.missing_packages import package_missing
from crosscast.messages.screens import Part, Table

if TYPE_CHECKING:
    from crosscast.tracking.runs import TracedRun

COLUMNS = ("run", "windows", "updates", "points")
Format = Literal["tensorboard", "mlflow", "wandb", "trackio", "csv"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TraceExport(Result):
    """Runs that were written for a tool."""

    to: str
    runs: tuple[TracedRun, ...]
    written: Path
    """The file or the folder."""
    show: str
    """Command that shows or sends it; empty for csv."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Notes on traces that end within a line, warnings of damaged status files."""
        return tuple(note for run in self.runs for note in run.notes)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Name, windows, updates and points of every run."""
        return [
            (run.name, str(run.windows), str(run.updates), str(len(run.points)))
            for run in self.runs
        ]

    @property
    def exit_code(self) -> Exit:
        """Always 0: what cannot be exported is an error."""
        return EXIT_OK

    @property
    def summary(self) -> str:
        """The number of runs, and where they are."""
        return f"{counted(len(self.runs), 'run')} written for {self.to}: {self.written}"

    @property
    def _about(self) -> str:
        return counted(sum(run.windows for run in self.runs), "window")

    @property
    def _next(self) -> str:
        if not self.show:
            return f"read {self.written}"
        return f"{'send' if self.to == 'wandb' else 'show'} it: {self.show}"

    def _parts(self, *, all: bool) -> Iterator[Part]:
        yield Table(COLUMNS, self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; docs/reference/trace.md describes the keys."""
        return {
            "version": 1,
            "to": self.to,
            "output": str(self.written),
            "show": self.show,
            "runs": [
                {
                    "name": run.name,
                    "trace": str(run.trace),
                    "windows": run.windows,
                    "updates": run.updates,
                    "points": len(run.points),
                }
                for run in self.runs
            ],
            "diagnostics": [note.to_json() for note in self.diagnostics],
        }

    def _html(self) -> Iterator[str]:
        yield html.table(COLUMNS, self.rows)


@public
def trace_export(
    runs: Annotated[
        Paths,
        Parameter("Folders of runs, of comparisons or of sweeps, or trace.jsonl files.", "RUN..."),
    ],
    to: Annotated[Format, Parameter("The tool that shows the runs, or csv.", names=("--to",))],
    *,
    out: PathLike,
    force: Annotated[bool, Parameter("Replace an earlier export.")] = False,
) -> TraceExport:
    """Write the traces of runs in the format of a tool that shows runs.

    Args:
        out: File to write for csv, else a folder.

    Raises:
        DiagnosticError: a trace is damaged, there is none, something else is at `out`, or the
            tool's library is missing or fails; nothing was written then.
    """
    import shlex

    from crosscast.tracking.exporting import export
    from crosscast.tracking.places import find_runs
    from crosscast.tracking.runs import read_run
    from crosscast.tracking.tools import TOOLS, require

    tool = TOOLS.get(to)
    if tool is not None:
        require(tool)
    try:
        traced_runs = tuple(
            read_run(name, place) for name, place in find_runs(paths_of(runs)).items()
        )
    except ModuleNotFoundError as error:
        raise package_missing("reading traces needs", error) from None
    written = Path(out)
    export(traced_runs, to, written, force=force)
    show = "" if tool is None else tool.show.format(shlex.quote(str(written)))
    return TraceExport(to=to, runs=traced_runs, written=written, show=show)
