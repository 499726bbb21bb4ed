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
            faults = read_json(self.folder / DONE, MOST_DONE)["injected"]
            return frozenset(map(str, faults))
        except (ValueError, LookupError, TypeError):
            return None


@dataclass(slots=True)
class StageResult:
    """All runs of a stage. `recipes`, `frameworks`: by contestant. `custom`: models of the user's
    that are trained in it. `emitted`: targets of the contestants that were compiled here."""

    stage: Stage
    recipes: Mapping[str, Recipe]
    faults: tuple[Fault, ...]
    frameworks: Mapping[str, str]
    finished: dict[tuple[str, str], FinishedRun] = field(default_factory=dict)
    judgements: Judgements = field(default_factory=Judgements)
    custom: CustomModels | None = None
    emitted: Mapping[str, str] = field(default_factory=dict)
    _observations: dict[tuple[str, str], Observation] = field(default_factory=dict)
    _file_rows: dict[Path, int | None] = field(default_factory=dict)

    def of(self, contestant: str, name: str) -> FinishedRun | None:
        """Return a run, if it came to an end."""
        finished = self.finished.get((contestant, name))
        return finished if finished and finished.run.outcome.complete else None

    def all_of(self, contestant: str) -> list[FinishedRun]:
        """Return the runs of a contestant, but for the perturbed ones."""
        return [
            finished
            for (name, _), finished in self.finished.items()
            if name == contestant and not finished.spec.twin
        ]

    def twins(self, contestant: str) -> dict[str, FinishedRun]:
        """Return the perturbed runs of a contestant that came to an end, by name."""
        return {
            run: finished
            for (name, run), finished in self.finished.items()
            if name == contestant and finished.spec.twin and finished.run.outcome.complete
        }

    def judgement_inputs(self, **arguments: Any) -> dict[str, Any]:
        """Return the inputs of this stage's judgements besides the files of runs."""
        models = {"models": self.custom.digest} if self.custom is not None else {}
        return {**arguments, **models}

    def train_rows(self, finished: FinishedRun) -> int | None:
        """Return the rows that a run trained on, counted in the file if it is not the recipe's.

        None if that cannot be read; what depends on it is not tested then.
        """
        data = finished.spec.recipe.data
        if isinstance(data, SyntheticData) and not finished.spec.brief:
            return data.train_rows
        path = finished.spec.trained
        if path not in self._file_rows:
            self._file_rows[path] = _rows_of(path)
        return self._file_rows[path]

    def observation(self, finished: FinishedRun) -> Observation:
        """Read what was recorded of a run: of a custom model the parameters that are trained.

        Raises:
            DiagnosticError: CC72x if that is malformed.
        """
        key = (finished.spec.contestant, finished.spec.name)
        if key not in self._observations:
            observation = self._read_observation(finished)
            if self.custom is not None:
                observation = self.custom.trained(
                    observation, self.frameworks[finished.spec.contestant]
                )
            self._observations[key] = observation
        return self._observations[key]

    def everything(self, finished: FinishedRun) -> Observation:
        """Read what was recorded of a run, with state that is not trained."""
        if self.custom is None:
            return self.observation(finished)
        return self._read_observation(finished)

    def _read_observation(self, finished: FinishedRun) -> Observation:
        averaged = None
        if self.custom is not None:
            averaged = self.custom.models[self.frameworks[finished.spec.contestant]].roles
        return read_observation(finished.folder / "observed", averaged)

    def canonical(self, finished: FinishedRun) -> Observation:
        """Return the observation of a run by names that all programs share."""
        observation = self.observation(finished)
        if self.custom is None:
            return observation
        return self.custom.canonical(observation, self.frameworks[finished.spec.contestant])

    def shifted(self, finished: FinishedRun) -> FinishedRun | None:
        """Return a run of the same program that differs from a short one by more than rounding."""
        return self.of(finished.spec.contestant, rounded_otherwise(finished.spec.name))

    def counters(self, finished: FinishedRun) -> frozenset[str]:
        """Return the tensors of a run's model that only count."""
        if self.custom is None:
            return frozenset()
        return self.custom.models[self.frameworks[finished.spec.contestant]].counters


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
            diagnostic = error.diagnostics[0]
            where = f"{diagnostic.span}: " if diagnostic.span else ""
            message = f"{where}{diagnostic.code} {diagnostic.message}"
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
