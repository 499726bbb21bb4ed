"""Train recipes x targets x seeds x settings."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from crosscast.api import html
from crosscast.api.calls import Paths, Texts, Words, paths_of, public, targets_of, texts_of
from crosscast.api.files import counted
from crosscast.api.parameters import DEVICE, INTERPRETERS, RECIPES, TARGETS, Parameter
from crosscast.api.recipes import loaded
from crosscast.api.result import Result
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
    recipes: Annotated[Paths, RECIPES],
    to: Annotated[Words, TARGETS],
    *,
    out: str | os.PathLike[str],
    seeds: Annotated[
        Texts | Sequence[int],
        Parameter("Seeds; default: the seed of each recipe.", "N,N-N,..."),
    ] = (),
    set: Annotated[
        Texts,
        Parameter(
            "Set a recipe field; repeat a path to add values to the grid.",
            "PATH=VALUE",
            words="settings",
        ),
    ] = (),
    windows: Annotated[
        int | None, Parameter("Optimizer steps; default: those of the recipe.", least=1)
    ] = None,
    executor: Annotated[
        str, Parameter("How to run the cells: local, slurm or a plug-in.", "NAME")
    ] = "local",
    jobs: Annotated[
        int | None,
        Parameter("Cells to run at a time; local default: the number of cores.", least=1),
    ] = None,
    threads: Annotated[
        int, Parameter("Cores per cell.", names=("--threads", "--cpus"), least=1)
    ] = 1,
    timeout: Annotated[
        float | None,
        Parameter("Time limit of an attempt in seconds; default: none.", positive=True),
    ] = None,
    retries: Annotated[int, Parameter("Number of retries after a cell was killed.", least=0)] = 3,
    checkpoint_every: Annotated[
        int | None,
        Parameter("Checkpoint interval in windows; default: that of the scripts.", least=1),
    ] = None,
    device: Annotated[Literal["cpu", "gpu"], DEVICE] = "cpu",
    python: Annotated[Texts, INTERPRETERS] = (),
    partition: Annotated[str, Parameter("SLURM partition.")] = "",
    time: Annotated[
        int | None,
        Parameter("SLURM time limit of an attempt in minutes; default: 60.", "MINUTES", least=1),
    ] = None,
    mem: Annotated[str, Parameter("SLURM memory per cell, such as 4G.")] = "",
    option: Annotated[
        Texts,
        Parameter("Option for the executor; SLURM: any option of sbatch.", "NAME[=VALUE]"),
    ] = (),
    watch: Watch | None = None,
) -> Sweep:
    """Train recipes x targets x seeds x settings; repeat the call to continue.

    Args:
        out: Folder of the sweep; an existing sweep is continued.
        watch: Told what begins and ends.

    Raises:
        DiagnosticError: a recipe or an argument is invalid, or a requirement is missing.
    """
    targets = targets_of(to)
    from crosscast.emit.folders import compile_to_folders

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
    warnings = tuple(diagnostic for path in paths for diagnostic in loaded(path).open)
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
