"""What runs have left, read once: rows, observations, weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crosscast.data.npz import read_arrays
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe, SyntheticData
from crosscast_parity.checks.check import windows
from crosscast_parity.inputs.custom import CustomModels
from crosscast_parity.inside.inject import Fault
from crosscast_parity.judge.judgement_store import Judgements
from crosscast_parity.judge.records import Run
from crosscast_parity.planning.half_precision import Execution
from crosscast_parity.planning.runs import RunSpec, Stage, rounded_otherwise
from crosscast_parity.processes.sessions import DONE, MOST_DONE, Finished
from crosscast_parity.recordings.files import read_json
from crosscast_parity.recordings.observations import Observation, read_observation
from crosscast_parity.recordings.trace import TraceRow, read_trace


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A finished run: its request, its outcome, and the folder with its files."""

    spec: RunSpec
    run: Run
    folder: Path

    @property
    def injected(self) -> frozenset[str] | None:
        """The faults that its session saw meet a micro-batch; None if that was not recorded."""
        try:
            found = read_json(self.folder / DONE, MOST_DONE)["injected"]
            return frozenset(map(str, found))
        except (ValueError, LookupError, TypeError):
            return None


@dataclass(slots=True)
class StageResult:
    """All runs of a stage. `recipes`, `frameworks`: by contestant. `custom`: models of the user's
    that are trained in it."""

    stage: Stage
    recipes: Mapping[str, Recipe]
    faults: tuple[Fault, ...]
    frameworks: Mapping[str, str]
    made: dict[tuple[str, str], FinishedRun] = field(default_factory=dict)
    judgements: Judgements = field(default_factory=Judgements)
    custom: CustomModels | None = None
    _observations: dict[tuple[str, str], Observation] = field(default_factory=dict)
    _file_rows: dict[Path, int | None] = field(default_factory=dict)

    def of(self, contestant: str, name: str) -> FinishedRun | None:
        """Return a run, if it came to an end."""
        found = self.made.get((contestant, name))
        return found if found and found.run.outcome.complete else None

    def all_of(self, contestant: str) -> list[FinishedRun]:
        """Return the runs of a contestant, but for the perturbed ones."""
        return [
            made
            for (name, _), made in self.made.items()
            if name == contestant and not made.spec.twin
        ]

    def twins(self, contestant: str) -> dict[str, FinishedRun]:
        """Return the perturbed runs of a contestant that came to an end, by name."""
        return {
            run: made
            for (name, run), made in self.made.items()
            if name == contestant and made.spec.twin and made.run.outcome.complete
        }

    def given(self, **arguments: Any) -> dict[str, Any]:
        """Return what judgements of this stage depend on besides the files of runs."""
        models = {"models": self.custom.digest} if self.custom is not None else {}
        return {**arguments, **models}

    def train_rows(self, made: FinishedRun) -> int | None:
        """Return the rows that a run trained on, counted in the file if it is not the recipe's.

        None if that cannot be read; what depends on it is not tested then.
        """
        data = made.spec.recipe.data
        if isinstance(data, SyntheticData) and not made.spec.brief:
            return data.train_rows
        path = made.spec.trained
        if path not in self._file_rows:
            self._file_rows[path] = _rows_of(path)
        return self._file_rows[path]

    def observation(self, made: FinishedRun) -> Observation:
        """Read what was recorded of a run: of a custom model the parameters that are trained.

        Raises:
            DiagnosticError: CC72x if that is malformed.
        """
        key = (made.spec.contestant, made.spec.name)
        if key not in self._observations:
            found = self._read(made)
            if self.custom is not None:
                found = self.custom.trained(found, self.frameworks[made.spec.contestant])
            self._observations[key] = found
        return self._observations[key]

    def everything(self, made: FinishedRun) -> Observation:
        """Read what was recorded of a run, with state that is not trained."""
        if self.custom is None:
            return self.observation(made)
        return self._read(made)

    def _read(self, made: FinishedRun) -> Observation:
        averaged = None
        if self.custom is not None:
            averaged = self.custom.models[self.frameworks[made.spec.contestant]].roles
        return read_observation(made.folder / "observed", averaged)

    def canonical(self, made: FinishedRun) -> Observation:
        """Return what was recorded of a run by names that all programs share."""
        found = self.observation(made)
        if self.custom is None:
            return found
        return self.custom.canonical(found, self.frameworks[made.spec.contestant])

    def shifted(self, made: FinishedRun) -> FinishedRun | None:
        """Return a run of the same program that differs from a short one by more than rounding."""
        return self.of(made.spec.contestant, rounded_otherwise(made.spec.name))

    def counters(self, made: FinishedRun) -> frozenset[str]:
        """Return the tensors of a run's model that only count."""
        if self.custom is None:
            return frozenset()
        return self.custom.models[self.frameworks[made.spec.contestant]].counters


def _rows_of(path: Path) -> int | None:
    try:
        return min(map(len, read_arrays(path).values()), default=0)
    except DiagnosticError:
        return None


def gather(spec: RunSpec, finished: Finished, execution: Execution, *, cached: bool) -> FinishedRun:
    """Read the trace that a run has left.

    One that contradicts its status is that of a failed run, as is one that says it has finished
    and is shorter or longer than asked. A run that stopped may be shorter.
    """
    outcome = finished.outcome
    rows: tuple[TraceRow, ...] = ()
    try:
        rows = read_trace(finished.folder / "trace.jsonl", partial=not outcome.complete)
        stated = outcome.status.windows if outcome.status else None
        if outcome.complete and stated not in (None, len(rows)):
            message = f"the trace has {len(rows)} rows, status.json says {stated} windows"
            outcome = replace(outcome, kind="failed", message=message)
        elif outcome.kind == "finished" and len(rows) != spec.windows:
            message = f"the trace has {len(rows)} rows, {windows(spec.windows)} were asked for"
            outcome = replace(outcome, kind="failed", message=message)
    except DiagnosticError as error:
        if outcome.complete:
            found = error.diagnostics[0]
            where = f"{found.span}: " if found.span else ""
            message = f"{where}{found.code} {found.message}"
            outcome = replace(outcome, kind="failed", message=message)
    run = Run(
        contestant=spec.contestant,
        stage=spec.stage,
        name=spec.name,
        execution=execution,
        outcome=outcome,
        rows=rows,
        cached=cached,
        folder=finished.folder,
    )
    return FinishedRun(spec=spec, run=run, folder=finished.folder)
