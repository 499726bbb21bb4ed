"""Train recipes x targets x seeds x settings."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from crosscast.api import html
from crosscast.api.calls import (
    Paths,
    Texts,
    Words,
    check_choice,
    check_positive,
    check_range,
    paths_of,
    public,
    targets_of,
    texts_of,
)
from crosscast.api.files import counted
from crosscast.api.recipes import loaded
from crosscast.api.result import Result
from crosscast.emit.folders import compile_to_folders
from crosscast.messages.code import Exit
from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.missing_packages import package_missing
from crosscast.messages.screens import Part, Table

if TYPE_CHECKING:
    from crosscast_parity.sweep.driver import Watch
    from crosscast_parity.sweep.table import SweepTable


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sweep(Result):
    """The runs of a sweep."""

    table: SweepTable
    """Every cell with its result."""
    folder: Path
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def exit_code(self) -> Exit:
        """0 if every cell finished, 3 if the only fault is this machine, else 1."""
        from crosscast_parity.sweep.command import exit_code

        return Exit(exit_code(self.table))

    @property
    def comparisons(self) -> tuple[str, ...]:
        """Every target against the first one, in a sentence, if there are several seeds."""
        return tuple(map(str, self.table.comparisons()))

    @property
    def summary(self) -> str:
        """The number of cells that finished."""
        done = sum(result.kind == "finished" for _, result in self.table.rows)
        return f"{done} of {len(self.table.rows)} cells finished"

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return self.table.to_json()

    @property
    def _about(self) -> str:
        return f"{counted(len(self.table.rows), 'cell')} in {self.folder}"

    @property
    def _next(self) -> str:
        if self.ok:
            return f"every cell is in {self.folder / 'sweep.csv'} and {self.folder / 'sweep.json'}"
        return "repeat the command: it continues with the cells that did not finish"

    def _parts(self, *, all: bool) -> Iterator[Part]:
        from crosscast_parity.sweep.table import COLUMNS

        yield Table(COLUMNS, self.table.lines(), long=("settings",))
        if self.comparisons:
            yield "\n".join(self.comparisons)

    def _html(self) -> Iterator[str]:
        from crosscast_parity.sweep.table import COLUMNS

        yield html.table(COLUMNS, self.table.lines(), long=("settings",))
        yield from map(html.paragraph, self.comparisons)


@public
def sweep(
    recipes: Paths,
    to: Words,
    *,
    out: str | os.PathLike[str],
    seeds: Texts | Sequence[int] = (),
    set: Texts = (),
    windows: int | None = None,
    executor: str = "local",
    jobs: int | None = None,
    threads: int = 1,
    timeout: float | None = None,
    retries: int = 3,
    checkpoint_every: int | None = None,
    device: Literal["cpu", "gpu"] = "cpu",
    python: Texts = (),
    partition: str = "",
    time: int | None = None,
    mem: str = "",
    option: Texts = (),
    watch: Watch | None = None,
) -> Sweep:
    """Train recipes x targets x seeds x settings; repeat the call to continue.

    Args:
        recipes: paths of recipes.
        to: targets to compile to.
        out: folder of the sweep; an existing sweep is continued.
        seeds: seeds as N or N-N; without them, the seed of each recipe.
        set: recipe fields as PATH=VALUE; repeat a path to add values to the grid.
        windows: optimizer steps; without it, those of the recipe.
        executor: how to run the cells: local, slurm or a plug-in.
        jobs: cells to run at a time.
        threads: cores per cell.
        timeout: time limit of an attempt in seconds.
        retries: number of retries after a cell was killed.
        checkpoint_every: checkpoint interval in windows.
        device: device to train on.
        python: interpreters as TARGET=PATH.
        partition: SLURM partition.
        time: SLURM time limit of an attempt in minutes.
        mem: SLURM memory per cell, such as 4G.
        option: options for the executor as NAME[=VALUE].
        watch: told what begins and ends.

    Raises:
        DiagnosticError: a recipe or an argument is invalid, or a requirement is missing.
    """
    check_range(
        windows=(windows, 1),
        jobs=(jobs, 1),
        threads=(threads, 1),
        retries=(retries, 0),
        checkpoint_every=(checkpoint_every, 1),
        time=(time, 1),
    )
    check_positive(timeout=timeout)
    check_choice("device", device, ("cpu", "gpu"))
    targets = targets_of(to)
    try:
        from crosscast_parity.planning.options import read_interpreters
        from crosscast_parity.sweep.command import SweepOptions, sweep_command
        from crosscast_parity.sweep.executor import Resources
        from crosscast_parity.sweep.grid import make_grid, parse_seeds, parse_settings
        from crosscast_parity.sweep.prepare import Training
        from crosscast_parity.sweep.progress import Lines
    except ModuleNotFoundError as error:
        raise package_missing("sweeps need", error) from None
    paths = paths_of(recipes)
    warnings = tuple(found for path in paths for found in loaded(path).open)
    axes = parse_settings(texts_of(set))
    points = make_grid(paths, targets, parse_seeds(texts_of(seeds)) if seeds else (), axes)
    folder = Path(out).absolute()
    options = SweepOptions(
        folder=folder,
        training=Training(
            windows=windows,
            threads=threads,
            device=device,
            timeout=timeout,
            checkpoint_every=checkpoint_every,
            python=read_interpreters(texts_of(python), targets),
        ),
        resources=Resources(
            folder=folder / "executor",
            jobs=jobs,
            cpus=threads,
            minutes=time,
            memory=mem,
            partition=partition,
            options=dict(text.partition("=")[::2] for text in texts_of(option)),
        ),
        executor=executor,
        retries=retries,
    )
    told = watch or Lines(io.StringIO())
    table = sweep_command(points, options, compile_to=compile_to_folders, watch=told)
    return Sweep(table=table, folder=folder, diagnostics=warnings)
