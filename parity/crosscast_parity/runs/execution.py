"""The runs of a comparison: which ones it asks for, and how they come to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscast.recipe.document import Recipe
from crosscast_parity.inputs.shared import Inputs
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.half_precision import Execution
from crosscast_parity.planning.options import Options
from crosscast_parity.planning.runs import RunSpec, plain_runs, twin_runs
from crosscast_parity.processes.process import Outcome
from crosscast_parity.processes.sessions import (
    EventKind,
    Finished,
    Limits,
    SessionPool,
    SessionRun,
    read_outcome,
)
from crosscast_parity.processes.work_done import WorkCounter
from crosscast_parity.runs.outcomes import FinishedRun, StageResult, gather
from crosscast_parity.runs.work_queue import RunRequest, deal
from crosscast_parity.runs.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """Makes runs, or finds them among those made before, and puts them into `results`.

    `wanted`: the program whose recipe rows and weights are made for, unless `inputs` is another
    recipe for that. `execution`: how half precision is run, by program. `on_made`: called with
    every run that has come to an end of its own while others are still to be made; `results` get
    them all at the end, in the order in which they were asked for.
    """

    options: Options
    contestants: Mapping[str, Contestant]
    wanted: str
    execution: Mapping[str, Execution]
    results: Sequence[StageResult]
    work: Workspace
    inputs: Recipe | None
    work_counter: WorkCounter
    on_made: Callable[[FinishedRun], None]

    def plain(self) -> list[RunRequest]:
        """Return the runs of all programs in all stages, twins apart."""
        return [request for result in self.results for request in self._requests(result)]

    def _requests(self, result: StageResult) -> list[RunRequest]:
        toy, requests = result.stage.toy, []
        inputs = None if toy else self._inputs(result)
        for name, contestant in self.contestants.items():
            recipe = result.recipes[name]
            if toy and not contestant.on_toy:
                continue
            if toy:
                inputs = self.work.toy(result.stage, recipe)
            assert inputs is not None
            program_inputs = inputs if toy else self.work.inputs_of(inputs, contestant)
            emulated = self.execution[name] == "emulated"
            specs = plain_runs(
                contestant, recipe, result.stage, program_inputs, result.faults, emulated=emulated
            )
            requests += [self._ask(contestant, spec) for spec in specs]
        return requests

    def twins(self, name: str) -> list[RunRequest]:
        """Return the perturbed runs, if there will be somebody to compare with them."""
        if len(self.contestants) < 2 and not self.options.save_reference:
            return []
        contestant, requests = self.contestants[name], []
        for result in self.results:
            if result.stage.toy:
                continue
            inputs = self.work.inputs_of(self._inputs(result), contestant)
            specs = twin_runs(contestant, result.recipes[name], result.stage, inputs)
            requests += [self._ask(contestant, spec) for spec in specs]
        return requests

    def _inputs(self, result: StageResult) -> Inputs:
        recipe = result.recipes[self.wanted]
        if self.inputs is not None:
            recipe = result.stage.derive(self.inputs)
        return self.work.inputs(result.stage, recipe)

    def _ask(self, contestant: Contestant, spec: RunSpec) -> RunRequest:
        if contestant.stored:
            folder = contestant.stored.find(spec)
            return RunRequest(
                contestant, spec, SessionRun(key=str(folder), title="", spec={}), folder
            )
        emulate = self.execution[contestant.name] == "emulated"
        return RunRequest(
            contestant, spec, self.work.session_run(contestant, spec, emulate=emulate)
        )

    def make(self, requests: Sequence[RunRequest]) -> None:
        """Make the runs that no earlier comparison has made, and read what all have left."""
        finished: dict[str, Finished] = {}
        cached = set()
        for request in requests:
            folder = request.stored or self._finished_folder(request)
            if folder:
                finished[request.run.key] = Finished(read_outcome(folder), folder)
                cached.add(request.run.key)
        # The same script on the same rows is one run, whoever asks for it.
        missing = list(
            {
                request.run.key: request for request in requests if request.run.key not in finished
            }.values()
        )
        limits = Limits(self.options.timeout, int(self.options.memory * 2**30))
        self.work_counter.total += sum(request.run.cost for request in missing)
        if missing:
            for request in requests:
                self._pass_on(request, finished.get(request.run.key), cached=True)

        def on_event(kind: EventKind, run: SessionRun, outcome: Outcome | None) -> None:
            self.work_counter(kind, run, outcome)
            folder = self.work.store.find(run.key) if outcome and outcome.complete else None
            if outcome and folder:
                for request in requests:
                    if request.run.key == run.key:
                        self._pass_on(request, Finished(outcome, folder), cached=False)

        pool = SessionPool(
            self.work.store,
            self.work.folder,
            jobs=self.options.jobs,
            limits=limits,
            on_event=on_event,
        )
        jobs = deal(missing, self.execution, self.work, self.options.jobs, self.wanted)
        finished |= pool.run(jobs)
        for request in requests:
            own = self._gather(request, finished[request.run.key], cached=request.run.key in cached)
            self._result_of(request.spec.stage).finished[
                (request.spec.contestant, request.spec.name)
            ] = own

    def _pass_on(self, request: RunRequest, finished: Finished | None, *, cached: bool) -> None:
        if finished:
            finished_run = self._gather(request, finished, cached=cached)
            if finished_run.run.outcome.complete:
                self.on_made(finished_run)

    def _gather(self, request: RunRequest, finished: Finished, *, cached: bool) -> FinishedRun:
        return gather(
            request.spec, finished, self.execution[request.contestant.name], cached=cached
        )

    def _finished_folder(self, request: RunRequest) -> Path | None:
        """Return the folder of a run that was made before; a damaged one is removed."""
        folder = self.work.store.find(request.run.key)
        if folder is None:
            return None
        finished = self._gather(request, Finished(read_outcome(folder), folder), cached=True)
        if finished.run.outcome.complete:
            return folder
        self.work.store.drop(request.run.key)
        return None

    def _result_of(self, stage: str) -> StageResult:
        return next(result for result in self.results if result.stage.name == stage)
