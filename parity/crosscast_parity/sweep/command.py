"""The sweep command, independent of the command-line library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscast.messages.folder_lock import hold_folder
from crosscast_parity.sweep.driver import RETRIES, Watch, run_sweep
from crosscast_parity.sweep.executor import Resources, make_executor
from crosscast_parity.sweep.grid import Point
from crosscast_parity.sweep.prepare import CompileTo, Training, prepare
from crosscast_parity.sweep.table import SweepTable

EXIT_FINISHED, EXIT_UNFINISHED, EXIT_CANNOT_RUN = 0, 1, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """Where a sweep goes and what runs its cells. `retries`: of a cell that was killed."""

    folder: Path
    training: Training
    resources: Resources
    executor: str = "local"
    retries: int = RETRIES


def sweep_command(
    points: Sequence[Point], options: SweepOptions, *, compile_to: CompileTo, watch: Watch
) -> SweepTable:
    """Run a sweep and write sweep.json and sweep.csv into its folder.

    Ctrl-C ends the cells that run; the same call goes on.

    Raises:
        DiagnosticError: for the options, recipes or executor; see the modules. CC505 if another
            sweep works in the folder.
        KeyboardInterrupt: after the cells were ended.
    """
    executor = make_executor(options.executor, options.resources)
    with hold_folder(options.folder, denied="CC729"):
        cells = prepare(points, options.folder, options.training, compile_to)
        results = run_sweep(cells, executor, watch, retries=options.retries)
        table = SweepTable.of(cells, results)
        table.write(options.folder)
    return table


def exit_code(table: SweepTable) -> int:
    """Return 0 if every cell finished, 3 if the only fault is this machine, else 1."""
    kinds = {result.kind for _, result in table.rows}
    if kinds <= {"finished"}:
        return EXIT_FINISHED
    return EXIT_CANNOT_RUN if kinds <= {"finished", "cannot_run"} else EXIT_UNFINISHED
