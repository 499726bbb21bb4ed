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
from crosscast_parity.processes.work_done import Tally
from crosscast_parity.runs.outcomes import Made, StageResult, gather
from crosscast_parity.runs.work_queue import Asked, deal
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
    tally: Tally
    on_made: Callable[[Made], None]

    def plain(self) -> list[Asked]:
        """Return the runs of all programs in all stages, twins apart."""
        return [one for result in self.results for one in self._plain(result)]

    def _plain(self, result: StageResult) -> list[Asked]:
        inputs = self._inputs(result)
        found = []
        for name, contestant in self.contestants.items():
            recipe = result.recipes[name]
            specs = plain_runs(contestant, recipe, result.stage, inputs, result.faults)
            found += [self._ask(contestant, spec) for spec in specs]
        return found

    def twins(self, name: str) -> list[Asked]:
        """Return the perturbed runs, if there will be somebody to compare with them."""
        if len(self.contestants) < 2 and not self.options.save_reference:
            return []
        contestant, found = self.contestants[name], []
        for result in self.results:
            inputs = self._inputs(result)
            specs = twin_runs(contestant, result.recipes[name], result.stage, inputs)
            found += [self._ask(contestant, spec) for spec in specs]
        return found

    def _inputs(self, result: StageResult) -> Inputs:
        recipe = result.recipes[self.wanted]
        if self.inputs is not None:
            recipe = result.stage.derive(self.inputs)
        return self.work.inputs(result.stage, recipe)

    def _ask(self, contestant: Contestant, spec: RunSpec) -> Asked:
        if contestant.stored:
            folder = contestant.stored.find(spec)
            return Asked(contestant, spec, SessionRun(key=str(folder), title="", spec={}), folder)
        emulate = self.execution[contestant.name] == "emulated"
        return Asked(contestant, spec, self.work.session_run(contestant, spec, emulate=emulate))

    def make(self, asked: Sequence[Asked]) -> None:
        """Make the runs that no earlier comparison has made, and read what all have left."""
        finished: dict[str, Finished] = {}
        cached = set()
        for one in asked:
            folder = one.stored or self._kept(one)
            if folder:
                finished[one.run.key] = Finished(read_outcome(folder), folder)
                cached.add(one.run.key)
        # The same script on the same rows is one run, whoever asks for it.
        missing = list({one.run.key: one for one in asked if one.run.key not in finished}.values())
        limits = Limits(self.options.timeout, int(self.options.memory * 2**30))
        self.tally.total += sum(one.run.cost for one in missing)
        if missing:
            for one in asked:
                self._pass_on(one, finished.get(one.run.key), cached=True)

        def on_event(kind: EventKind, run: SessionRun, outcome: Outcome | None) -> None:
            self.tally(kind, run, outcome)
            folder = self.work.store.find(run.key) if outcome and outcome.complete else None
            if outcome and folder:
                for one in asked:
                    if one.run.key == run.key:
                        self._pass_on(one, Finished(outcome, folder), cached=False)

        pool = SessionPool(
            self.work.store,
            self.work.folder,
            jobs=self.options.jobs,
            limits=limits,
            on_event=on_event,
        )
        jobs = deal(missing, self.execution, self.work, self.options.jobs, self.wanted)
        finished |= pool.run(jobs)
        for one in asked:
            made = self._made(one, finished[one.run.key], cached=one.run.key in cached)
            self._of(one.spec.stage).made[(one.spec.contestant, one.spec.name)] = made

    def _pass_on(self, one: Asked, finished: Finished | None, *, cached: bool) -> None:
        if finished:
            made = self._made(one, finished, cached=cached)
            if made.run.outcome.complete:
                self.on_made(made)

    def _made(self, one: Asked, finished: Finished, *, cached: bool) -> Made:
        return gather(one.spec, finished, self.execution[one.contestant.name], cached=cached)

    def _kept(self, one: Asked) -> Path | None:
        """Return the folder of a run that was made before; a damaged one is removed."""
        folder = self.work.store.find(one.run.key)
        if folder is None:
            return None
        found = self._made(one, Finished(read_outcome(folder), folder), cached=True)
        if found.run.outcome.complete:
            return folder
        self.work.store.drop(one.run.key)
        return None

    def _of(self, stage: str) -> StageResult:
        return next(result for result in self.results if result.stage.name == stage)
