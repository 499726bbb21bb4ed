"""Stand-ins for the sweep tests: a script that keeps the contract and trains nothing, fast."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from crosscast.recipe.document import Recipe
from crosscast_parity.sweep.cell import run_cell
from crosscast_parity.sweep.driver import Watch, run_sweep
from crosscast_parity.sweep.executor import Ended, Executor
from crosscast_parity.sweep.grid import Point, make_grid
from crosscast_parity.sweep.prepare import Cell, Training, prepare
from crosscast_parity.sweep.spec import CellResult
from crosscast_parity.sweep.table import SweepTable
from program_files import files_in

# The loss falls by a rule, so that a resumed run differs from a restarted one.
_FILES = files_in(Path(__file__).with_suffix(".md"))
SCRIPT = _FILES["script.py"]

RECIPE: dict[str, Any] = {
    "version": 1,
    "name": "fake",
    "seed": 5,
    "model": {"kind": "bert", "preset": "tiny", "vocab_size": 128, "labels": 3, "layers": 1},
    "data": {"source": "synthetic", "sequence_length": 16, "train_rows": 64, "eval_rows": 512},
    "batch": {"micro_batch_size": 8, "global_batch_size": 16},
    "optimizer": {"name": "sgd", "learning_rate": 0.01},
    "schedule": {"total_steps": 30},
}


def small(**sections: Any) -> dict[str, Any]:
    """The recipe as plain data, with a model that weights are drawn for quickly."""
    sizes = {"layers": 1, "hidden_size": 8, "attention_heads": 1, "intermediate_size": 8}
    model = {"kind": "bert", "vocab_size": 128, "max_positions": 16, "labels": 3, **sizes}
    return RECIPE | {"model": model} | sections


def write_recipe(folder: Path, **sections: Any) -> str:
    """Write the recipe and return its path."""
    path = folder / f"{sections.get('name', 'recipe')}.yaml"
    path.write_text(json.dumps(small(**sections)))
    return str(path)


def fake_compiler(
    bugs: Mapping[str, str] | None = None, *, pace: float = 0.0
) -> Callable[[Recipe, Sequence[str], Path], None]:
    """A compiler that writes the stand-in; `bugs` by target, `pace` in seconds per window."""

    def compile_to(recipe: Recipe, targets: Sequence[str], directory: Path) -> None:
        for target in targets:
            text = SCRIPT.replace("@SEED@", str(recipe.seed)).replace("@PACE@", str(pace))
            text = text.replace("@RATE@", str(recipe.optimizer.learning_rate))
            text = text.replace("@BUG@", (bugs or {}).get(target, ""))
            (directory / target).mkdir(parents=True)
            (directory / target / "train.py").write_text(text)

    return compile_to


def points(
    folder: Path, targets: Sequence[str] = ("a",), seeds: Sequence[int] = (1, 2), **axes: Any
) -> list[Point]:
    """A grid over the recipe; `axes` with two underscores for each dot."""
    named = {path.replace("__", "."): values for path, values in axes.items()}
    return make_grid([write_recipe(folder)], targets, seeds, named)


class Silent(Watch):
    """Records its calls."""

    def __init__(self) -> None:
        self.done: list[Cell] = []
        self.ends: list[tuple[str, bool]] = []
        self.ticks = 0
        self.closed = False

    def begin(self, cells: Sequence[Cell], done: Sequence[Cell]) -> None:
        self.done = list(done)

    def tick(self) -> None:
        self.ticks += 1

    def ended(self, cell: Cell, result: CellResult, *, again: bool) -> None:
        self.ends.append((result.kind, again))

    def close(self) -> None:
        self.closed = True


class InProcess(Executor):
    """Runs a function instead of a cell's process; keeps what was submitted."""

    def __init__(self, work: Callable[[Path], str | None]) -> None:
        self.work = work
        self.submitted: list[Path] = []
        self.waiting: list[Path] = []
        self.closed = False

    def submit(self, cell: Path) -> None:
        self.submitted.append(cell)
        self.waiting.append(cell)

    def collect(self) -> Generator[Ended | None, None, None]:
        try:
            while self.waiting:
                cell = self.waiting.pop(0)
                yield None
                yield Ended(cell, self.work(cell) or "")
        finally:
            self.closed = True


def make_cells(
    folder: Path, grid: list[Point], bugs: dict[str, str] | None = None, **training: Any
) -> list[Cell]:
    compiler = fake_compiler(bugs, pace=training.pop("pace", 0.0))
    return prepare(grid, folder / "sweep", Training(**training), compiler)


def run(
    folder: Path,
    grid: list[Point],
    bugs: dict[str, str] | None = None,
    executor: Executor | None = None,
    **training: Any,
) -> tuple[SweepTable, Silent]:
    """Run a sweep, without an executor in this process: those of cells take half a second each."""
    cells, watch = make_cells(folder, grid, bugs, **training), Silent()
    executor = executor or InProcess(lambda cell: str(run_cell(cell).kind))
    results = run_sweep(cells, executor, watch)
    assert watch.closed
    return SweepTable.of(cells, results), watch


def kinds(table: SweepTable) -> list[str]:
    return [result.kind for _, result in table.rows]


def wait_for_windows(cell: Cell, windows: int) -> None:
    trace = cell.folder / "output" / "trace.jsonl"
    deadline = time.monotonic() + 30
    while not trace.exists() or trace.read_bytes().count(b"\n") < windows:
        assert time.monotonic() < deadline
        time.sleep(0.01)
