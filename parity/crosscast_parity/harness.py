"""Run programs on the same weights and batches, compare them level by level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from crosscast.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe import Recipe
from crosscast_parity.bisecting import bisect_pairs
from crosscast_parity.contestants import Contestant, check_names, refuse
from crosscast_parity.dealing import Asked, deal
from crosscast_parity.exchange import Inputs
from crosscast_parity.faulting import choose_faults
from crosscast_parity.gathered import StageResult, gather
from crosscast_parity.half import Execution, choose_execution
from crosscast_parity.inside.inject import Fault
from crosscast_parity.options import Options, choose_reference_name
from crosscast_parity.planning import RunSpec, Stage, plain_runs, twin_runs
from crosscast_parity.process import Outcome
from crosscast_parity.records import Entrant, ParityReport
from crosscast_parity.reporting import Outcomes, report_of
from crosscast_parity.sessions import (
    EventKind,
    Finished,
    Limits,
    SessionPool,
    SessionRun,
    read_outcome,
)
from crosscast_parity.stages import make_stages, own_stage
from crosscast_parity.stored import check_seeds, store_reference
from crosscast_parity.stress import stress_recipe
from crosscast_parity.stress_scale import stress_faults
from crosscast_parity.variants import is_half
from crosscast_parity.workspace import CompileTo, Workspace


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a comparison is. `done` and `total` are in a unit of work, not in runs."""

    kind: EventKind
    title: str
    outcome: Outcome | None
    done: float
    total: float


OnProgress = Callable[[Progress], None]


def ignore(progress: Progress) -> None:
    """Say nothing when a run begins or ends."""


def compare(
    contestants: Sequence[Contestant],
    *,
    options: Options,
    compile_to: CompileTo,
    on_progress: OnProgress = ignore,
    stages: Sequence[Stage] | None = None,
    inputs: Recipe | None = None,
) -> ParityReport:
    """Run programs and compare their traces, gradients, updates and results.

    Args:
        contestants: the programs, each name once; rows and weights are made for the recipe of the
            reference.
        options: folder, depth of the check, numbers of windows, twins, threads and jobs.
        compile_to: the compiler, passed in so that the harness does not depend on it.
        on_progress: called whenever a run begins or ends.
        stages: instead of those of `options.check`.
        inputs: recipe that rows and weights are made for, instead of the reference's.

    Raises:
        DiagnosticError: a recipe cannot be compared, or nothing could be written. What happens
            to a process is never an error here, it is in the report.
    """
    check_names(contestants)
    check_seeds(contestants)
    try:
        return _Comparison(contestants, options, compile_to, on_progress, stages, inputs).run()
    except OSError as error:
        where = error.filename or options.workdir
        raise DiagnosticError(
            Diagnostic(code="CC708", message=f"{where}: {error.strerror or error}")
        ) from None


@dataclass(slots=True)
class _Tally:
    """Adds up the work that is done, for the progress."""

    on_progress: OnProgress
    total: float = 0.0
    done: float = 0.0
    seen: set[str] = field(default_factory=set)

    def __call__(self, kind: EventKind, run: SessionRun, outcome: Outcome | None) -> None:
        if kind == "ended" and run.key not in self.seen:
            self.seen.add(run.key)
            self.done += run.cost
        self.on_progress(Progress(kind, run.title, outcome, self.done, self.total))


class _Comparison:
    def __init__(
        self,
        contestants: Sequence[Contestant],
        options: Options,
        compile_to: CompileTo,
        on_progress: OnProgress,
        stages: Sequence[Stage] | None,
        inputs: Recipe | None,
    ) -> None:
        names = [contestant.name for contestant in contestants]
        self.wanted = choose_reference_name(names, options.reference)
        self.options = options
        self.contestants = {one.name: one for one in contestants}
        self.recipe = self.contestants[self.wanted].recipe
        self.work = Workspace(options, compile_to)
        self.inputs = inputs
        self.compile_to = compile_to
        self.tally = _Tally(on_progress)
        self.stages = list(stages) if stages is not None else self._stages()
        self.execution = {one.name: self._execution(one) for one in contestants}
        self.results = [self._result(stage) for stage in self.stages]

    def _stages(self) -> list[Stage]:
        options = self.options
        own = any(one.own for one in self.contestants.values())
        if options.stress:
            self._refuse_stress(own)
        if own:
            return [own_stage(self.recipe, options.windows, options.twins)]
        return make_stages(
            self.recipe,
            options.check,
            windows=options.windows,
            twins=options.twins,
            stress=options.stress,
        )

    def _refuse_stress(self, own: bool) -> None:
        """A recipe made active cannot be given to a script that exists, nor to two recipes."""
        if own:
            raise refuse("--stress derives a recipe, which a script of one's own cannot follow")
        if self.options.check == "model":
            raise refuse("--stress is for the small model of --check quick, full and nightly")
        if any(one.recipe != self.recipe for one in self.contestants.values()):
            raise refuse("--stress would make one recipe of two that are to be compared")

    def _execution(self, contestant: Contestant) -> Execution:
        if contestant.stored:
            return contestant.stored.execution
        half = any(is_half(stage.derive(contestant.recipe)) for stage in self.stages)
        options = self.options
        return choose_execution(half, contestant.framework, options.half, options.device)

    def _result(self, stage: Stage) -> StageResult:
        recipes = {name: stage.derive(one.recipe) for name, one in self.contestants.items()}
        recipe = recipes[self.wanted]
        faults: tuple[Fault, ...] = ()
        if "faults" in stage.parts:
            faults = self._faults(recipe, stage)
        return StageResult(stage, recipes, faults)

    def _faults(self, recipe: Recipe, stage: Stage) -> tuple[Fault, ...]:
        if not recipe.scaling_on and (self.recipe.scaling_on or self.inputs is not None):
            return ()  # a stage in another type
        if stage.stress and self.options.faults is None:
            return stress_faults(recipe, stage.windows) if recipe.scaling_on else ()
        return choose_faults(recipe, self.options.faults)

    def run(self) -> ParityReport:
        try:
            self.work.prepare()
            return self._compare()
        finally:
            self.work.release()

    def _compare(self) -> ParityReport:
        asked = [one for result in self.results for one in self._asked(result)]
        # Cores that wait for the slowest may as well make the twins of the likely reference.
        asked += self._twins(self.wanted)
        self._make(asked)
        reference = self._reference()
        if reference and reference != self.wanted:
            self._make(self._twins(reference))
        outcomes = Outcomes(
            options=self.options,
            contestants=self.contestants,
            wanted=self.wanted,
            execution=self.execution,
            results=self.results,
            scripts=self.work,
            stressed=stress_recipe(self.recipe)[1] if self.options.stress else (),
        )
        report = report_of(outcomes, reference)
        if self.options.bisect:
            found = bisect_pairs(outcomes, report, self._again)
            report = replace(report, bisections=found)
        if self.options.save_reference and reference:
            self._save(report.entrant(reference), self.options.save_reference)
        return report

    def _again(self, ours: Contestant, changed: Contestant, result: StageResult) -> ParityReport:
        """Compare a program with a reference by a changed recipe; its own runs are there."""
        stage = replace(result.stage, derive=lambda recipe: recipe)
        options = replace(
            self.options,
            workdir=self.work.folder / "bisect",
            cache=self.work.store.root,
            reference=changed.name,
            faults=result.faults,
            bisect=False,
            stress=False,
            save_reference=None,
        )
        return compare(
            [ours, changed],
            options=options,
            compile_to=self.compile_to,
            on_progress=self.tally.on_progress,
            stages=[stage],
            inputs=result.recipes[self.wanted],
        )

    def _save(self, entrant: Entrant, folder: Path) -> None:
        contestant = self.contestants[entrant.name]
        twins = [m for r in self.results for m in r.twins(entrant.name).values()]
        store_reference(
            folder,
            name=entrant.name,
            target=entrant.target,
            recipe=contestant.recipe,
            execution=entrant.execution,
            script=entrant.script,
            made=[*(m for r in self.results for m in r.all_of(entrant.name)), *twins],
        )

    def _asked(self, result: StageResult) -> list[Asked]:
        inputs = self._inputs(result)
        found = []
        for name, contestant in self.contestants.items():
            recipe = result.recipes[name]
            specs = plain_runs(contestant, recipe, result.stage, inputs, result.faults)
            found += [self._ask(contestant, spec) for spec in specs]
        return found

    def _twins(self, name: str) -> list[Asked]:
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

    def _make(self, asked: Sequence[Asked]) -> None:
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
        pool = SessionPool(
            self.work.store,
            self.work.folder,
            jobs=self.options.jobs,
            limits=limits,
            on_event=self.tally,
        )
        finished |= pool.run(deal(missing, self.execution, self.work, self.options.jobs))
        for one in asked:
            made = gather(
                one.spec,
                finished[one.run.key],
                self.execution[one.contestant.name],
                cached=one.run.key in cached,
            )
            self._of(one.spec.stage).made[(one.spec.contestant, one.spec.name)] = made

    def _kept(self, one: Asked) -> Path | None:
        """Return the folder of a run that was made before; a damaged one is removed."""
        folder, execution = self.work.store.find(one.run.key), self.execution[one.contestant.name]
        if folder is None:
            return None
        found = gather(one.spec, Finished(read_outcome(folder), folder), execution, cached=True)
        if found.run.outcome.complete:
            return folder
        self.work.store.drop(one.run.key)
        return None

    def _of(self, stage: str) -> StageResult:
        return next(result for result in self.results if result.stage.name == stage)

    def _reference(self) -> str | None:
        """Return the program to compare with: the wanted one if all its runs are whole."""
        whole = [name for name in self.contestants if self._whole(name)]
        order = sorted(whole, key=lambda name: name != self.wanted)
        return order[0] if order else None

    def _whole(self, name: str) -> bool:
        runs = [made.run for result in self.results for made in result.all_of(name)]
        return any(run.outcome.complete for run in runs) and all(
            run.outcome.complete or run.needless for run in runs
        )
