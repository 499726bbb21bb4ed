"""Run a sweep: skip finished cells, run the others, retry killed ones."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from crosscast_parity.sweep.executor import Ended, Executor
from crosscast_parity.sweep.prepare import Cell
from crosscast_parity.sweep.spec import RESULT, CellResult, read_result

RETRIES = 3
FROM_OUTSIDE = frozenset(
    -number
    for number in (
        signal.SIGHUP,
        signal.SIGINT,
        signal.SIGKILL,
        signal.SIGTERM,
        signal.SIGUSR1,
        signal.SIGUSR2,
    )
)
"""Exit codes of a training that somebody or something else ended; a crash has other ones."""


class Watch(Protocol):
    """Receives the progress of a sweep."""

    def begin(self, cells: Sequence[Cell], finished: Sequence[Cell]) -> None:
        """Called once, with all cells and the cells that were already done."""

    def tick(self) -> None:
        """Called now and then while cells run."""

    def ended(self, cell: Cell, result: CellResult, *, again: bool) -> None:
        """Called when a cell has ended; `again`: it will be tried once more."""

    def close(self) -> None:
        """Called at the end, however that comes."""


def run_sweep(
    cells: Sequence[Cell], executor: Executor, watch: Watch, *, retries: int = RETRIES
) -> dict[Path, CellResult]:
    """Run all cells that have no result yet; return what is known of each, by its folder.

    A cell whose training was killed, or that vanished with its process, is submitted again, at most
    `retries` times; it resumes from its last checkpoint. What ends in an error of its own is not.

    Raises:
        DiagnosticError: the executor cannot go on. The cells that ended until then are kept.
        KeyboardInterrupt: passed on, after what runs has been ended.
    """
    by_folder = {cell.folder: cell for cell in cells}
    results: dict[Path, CellResult] = {}
    for folder in by_folder:
        earlier = read_result(folder)
        if earlier is not None and earlier.complete:
            results[folder] = earlier
    watch.begin(list(by_folder.values()), [by_folder[folder] for folder in results])
    left = Counter(dict.fromkeys(by_folder, retries))
    for folder in by_folder.keys() - results.keys():
        (folder / RESULT).unlink(missing_ok=True)
    for folder in by_folder:
        if folder not in results:
            executor.submit(folder)
    endings = executor.collect()
    try:
        for ended in endings:
            watch.tick()
            if ended is None:
                continue
            result = _result(ended)
            again = _from_outside(ended, result) and left[ended.cell] > 0
            if again:
                left[ended.cell] -= 1
                (ended.cell / RESULT).unlink(missing_ok=True)
                executor.submit(ended.cell)
            else:
                results[ended.cell] = result
            watch.ended(by_folder[ended.cell], result, again=again)
    finally:
        endings.close()
        watch.close()
    return results


def _result(ended: Ended) -> CellResult:
    result = read_result(ended.cell)
    if result is not None:
        return result
    return CellResult(kind="interrupted", message=ended.problem or "it wrote no result")


def _from_outside(ended: Ended, result: CellResult) -> bool:
    if result.kind == "timeout":  # killed by the cell itself: it would need as long again
        return False
    return result.kind == "interrupted" or result.exit_code in FROM_OUTSIDE
