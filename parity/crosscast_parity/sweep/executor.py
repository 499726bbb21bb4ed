"""The protocol of executors, and finding them."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Protocol

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe.suggestions import suggest

GROUP = "crosscast.executors"


@dataclass(frozen=True, slots=True)
class Ended:
    """A cell of which nothing runs any more.

    Whether it came to a result stands in its folder. `problem` says why, where the executor knows
    of a reason outside the training: a signal, a node that failed, a job that was cancelled.
    """

    cell: Path
    problem: str = ""


class Executor(Protocol):
    """Runs cells: has `python -m crosscast_parity.sweep.cell FOLDER` executed for every one.

    Folders are shared with whatever machine that is. An executor neither looks at results nor
    decides about another attempt; a cell may be submitted again after it has ended.
    """

    def submit(self, cell: Path) -> None:
        """Take a cell's folder; returns at once, and may be called while `collect` goes on."""

    def collect(self) -> Generator[Ended | None]:
        """Run what was submitted; yield every cell that has ended, and None now and then.

        Stops when nothing is left. Closing the generator ends whatever still runs or waits.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a sweep asks of an executor.

    `folder`: for its own files, within the sweep's. `jobs`: cells at a time, None for as many as
    make sense. `cpus`: of a cell. `minutes`, `memory`, `partition` and `options` are for batch
    systems; `options` go to their command as they are.
    """

    folder: Path
    jobs: int | None = None
    cpus: int = 1
    minutes: int | None = None
    memory: str = ""
    partition: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


class Factory(Protocol):
    """What the entry points name."""

    def __call__(self, resources: Resources) -> Executor:
        """Return an executor; DiagnosticError if there can be none on this machine."""


def executor_names() -> list[str]:
    """Return the names of the installed executors, sorted."""
    return sorted(_entry_points())


def make_executor(name: str, resources: Resources) -> Executor:
    """Return an executor.

    Raises:
        DiagnosticError: CC730 if none of that name is installed or it does not load; what the
            executor itself says otherwise.
    """
    entry = _entry_points().get(name)
    if entry is None:
        near = suggest(name, executor_names())
        message = f"no executor {name!r}; installed: {', '.join(executor_names())}"
        hint = f"did you mean {near!r}?" if near else ""
        raise DiagnosticError(Diagnostic(code="CC730", message=message, hint=hint))
    try:
        factory: Factory = entry.load()
    except Exception as error:  # whatever a stranger's package raises while it is imported
        message = f"executor {name!r} does not load: {error}"
        raise DiagnosticError(Diagnostic(code="CC730", message=message)) from None
    return factory(resources)


def _entry_points() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}
