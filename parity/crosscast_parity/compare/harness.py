"""Run programs on the same weights and batches and compare them level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast_parity.checks.check import Check
from crosscast_parity.compare.bisection import bisect_pairs
from crosscast_parity.compare.custom_evaluation import evaluation_checks
from crosscast_parity.compare.findings import Findings
from crosscast_parity.compare.report_builder import Outcomes, report_of
from crosscast_parity.compare.stage_checks import run_checks
from crosscast_parity.inputs.custom import CustomModels
from crosscast_parity.inside.inject import Fault
from crosscast_parity.judge.records import Entrant, ParityReport
from crosscast_parity.planning.contestants import Contestant, check_custom, check_names, refuse
from crosscast_parity.planning.half_precision import Execution, choose_execution
from crosscast_parity.planning.masks import with_masks
from crosscast_parity.planning.options import Options, choose_reference_name
from crosscast_parity.planning.overflows import choose_faults
from crosscast_parity.planning.runs import Stage
from crosscast_parity.planning.stages import (
    custom_stages,
    make_stages,
    own_stage,
    own_toy_stage,
    toy_stages,
)
from crosscast_parity.processes.freed_memory import keep_freed_memory
from crosscast_parity.processes.work_done import (
    OnProgress,
    Progress,
    WorkCounter,
    ignore,
    without_findings,
)
from crosscast_parity.recipes.derived import is_half
from crosscast_parity.recipes.stress import stress_recipe
from crosscast_parity.recipes.stress_scale import stress_faults
from crosscast_parity.runs.execution import Maker
from crosscast_parity.runs.kept_reference import check_seeds, store_reference
from crosscast_parity.runs.outcomes import FinishedRun, StageResult
from crosscast_parity.runs.workspace import CompileTo, Workspace

__all__ = ["OnProgress", "Progress", "compare", "ignore"]


def compare(
    contestants: Sequence[Contestant],
    *,
    options: Options,
    compile_to: CompileTo,
    on_progress: OnProgress = ignore,
    stages: Sequence[Stage] | None = None,
    inputs: Recipe | None = None,
    custom: CustomModels | None = None,
) -> ParityReport:
    """Run programs and compare their traces, gradients, updates and results.

    Args:
        contestants: the programs, each name once; rows and weights are made for the recipe of the
            reference.
        options: folder, depth of the check, numbers of windows, twins, threads and jobs.
        compile_to: the compiler, passed in so that the harness does not depend on it.
        on_progress: called whenever a run begins or ends, and when the first windows of two
            programs were judged.
        stages: instead of those of `options.check`.
        inputs: recipe that rows and weights are made for, instead of the reference's.
        custom: the models of a recipe with `model.kind: custom`.

    Raises:
        DiagnosticError: a recipe cannot be compared, or nothing could be written. What happens
            to a process is never an error here, it is in the report.
    """
    check_names(contestants)
    check_seeds(contestants)
    keep_freed_memory()
    try:
        return _Comparison(
            contestants, options, compile_to, on_progress, stages, inputs, custom
        ).run()
    except OSError as error:
        where = error.filename or options.workdir
        raise DiagnosticError(
            Diagnostic(code="CC708", message=f"{where}: {error.strerror or error}")
        ) from None


class _Comparison:
    def __init__(
        self,
        contestants: Sequence[Contestant],
        options: Options,
        compile_to: CompileTo,
        on_progress: OnProgress,
        stages: Sequence[Stage] | None,
        inputs: Recipe | None,
        custom: CustomModels | None,
    ) -> None:
        names = [contestant.name for contestant in contestants]
        if custom is not None:
            check_custom(contestants, tuple(custom.models), custom.folder)
        self.wanted = choose_reference_name(names, options.reference)
        self.options = options
        self.contestants = {contestant.name: contestant for contestant in contestants}
        self.recipe = self.contestants[self.wanted].recipe
        self.work = Workspace(options, compile_to, custom)
        self.inputs, self.custom = inputs, custom
        self.compile_to = compile_to
        self.work_counter = WorkCounter(on_progress)
        asked = stages if stages is not None else self._stages()
        self.stages = with_masks(asked, self.contestants.values())
        self.execution = {
            contestant.name: self._execution(contestant) for contestant in contestants
        }
        self.results = [self._result(stage) for stage in self.stages]

    def _stages(self) -> list[Stage]:
        options = self.options
        own = any(contestant.own for contestant in self.contestants.values())
        if options.stress:
            self._refuse_stress(own)
        weights = None if self.custom is None else self.custom.count
        if own:
            trained = own_stage(self.recipe, options.windows, options.twins, weights)
            # A script that trains a custom model cannot train the toy: its loss is of that model.
            return [trained] if weights is not None else [trained, own_toy_stage(self.recipe)]
        if weights is not None:
            return custom_stages(
                self.recipe, weights, options.check, options.windows, options.twins
            )
        stages = make_stages(
            self.recipe,
            options.check,
            windows=options.windows,
            twins=options.twins,
            stress=options.stress,
        )
        return [*stages, *toy_stages()]

    def _refuse_stress(self, own: bool) -> None:
        """A recipe made active cannot be given to a script that exists, nor to two recipes."""
        if own:
            raise refuse("--stress derives a recipe, which a custom script cannot follow")
        if self.options.check == "model":
            raise refuse("--stress is for the small model of --check quick, full and nightly")
        if any(contestant.recipe != self.recipe for contestant in self.contestants.values()):
            raise refuse("--stress would turn two recipes that are compared into one")

    def _execution(self, contestant: Contestant) -> Execution:
        if contestant.stored:
            return contestant.stored.execution
        half = any(is_half(stage.derive(contestant.recipe)) for stage in self.stages)
        options = self.options
        return choose_execution(half, contestant.framework, options.half, options.device)

    def _result(self, stage: Stage) -> StageResult:
        recipes = {
            name: stage.derive(contestant.recipe) for name, contestant in self.contestants.items()
        }
        recipe = recipes[self.wanted]
        faults: tuple[Fault, ...] = ()
        if "faults" in stage.parts:
            faults = self._faults(recipe, stage)
        frameworks = {name: program.framework for name, program in self.contestants.items()}
        emitted = {name: one.target for name, one in self.contestants.items() if one.emitted}
        return StageResult(
            stage,
            recipes,
            faults,
            frameworks,
            emitted=emitted,
            judgements=self.work.judgements,
            custom=None if stage.toy else self.custom,
        )

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
        findings = Findings(self.results, self.wanted, self.work_counter.tell)
        maker = self._maker(findings)
        # Cores that wait for the slowest may as well make the twins of the likely reference.
        requests = [*maker.plain(), *maker.twins(self.wanted)]
        findings.expect(request.spec for request in requests)
        maker.make(requests)
        reference = self._reference()
        if reference and reference != self.wanted:
            maker.make(maker.twins(reference))
        outcomes = Outcomes(
            options=self.options,
            contestants=self.contestants,
            wanted=self.wanted,
            execution=self.execution,
            results=self.results,
            scripts=self.work,
            stressed=stress_recipe(self.recipe)[1] if self.options.stress else (),
            evaluations=self._evaluations(),
        )
        report = report_of(outcomes, reference)
        if self.options.bisect:
            bisections = bisect_pairs(outcomes, report, self._compare_again)
            report = replace(report, bisections=bisections)
        if self.options.save_reference and reference:
            self._save(report.entrant(reference), self.options.save_reference)
        return report

    def _evaluations(self) -> dict[str, tuple[Check, ...]]:
        if self.custom is None:
            return {}
        programs = list(self.contestants.values())
        return evaluation_checks(programs, self.results, timeout=self.options.timeout)

    def _maker(self, findings: Findings) -> Maker:
        stages = {result.stage.name: result for result in self.results}

        def on_made(finished: FinishedRun) -> None:
            if not finished.run.cached and not finished.spec.twin:
                # While other runs are being made; the report finds the judgement in the store.
                run_checks(stages[finished.spec.stage], finished)
            findings(finished)

        return Maker(
            options=self.options,
            contestants=self.contestants,
            wanted=self.wanted,
            execution=self.execution,
            results=self.results,
            work=self.work,
            inputs=self.inputs,
            work_counter=self.work_counter,
            on_made=on_made,
        )

    def _compare_again(
        self, ours: Contestant, changed: Contestant, result: StageResult
    ) -> ParityReport:
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
            on_progress=without_findings(self.work_counter.on_progress),
            stages=[stage],
            inputs=result.recipes[self.wanted],
            custom=self.custom,
        )

    def _save(self, entrant: Entrant, folder: Path) -> None:
        contestant = self.contestants[entrant.name]
        results = [result for result in self.results if not result.stage.toy]
        twins = [m for r in results for m in r.twins(entrant.name).values()]
        store_reference(
            folder,
            contestant,
            execution=entrant.execution,
            script=entrant.script,
            finished_runs=[*(m for r in results for m in r.all_of(entrant.name)), *twins],
        )

    def _reference(self) -> str | None:
        """Return the program to compare with: the wanted one if all its runs are whole."""
        whole = [name for name in self.contestants if self._is_complete(name)]
        order = sorted(whole, key=lambda name: name != self.wanted)
        return order[0] if order else None

    def _is_complete(self, name: str) -> bool:
        runs = [finished.run for result in self.results for finished in result.all_of(name)]
        return any(run.outcome.complete for run in runs) and all(
            run.outcome.complete or run.needless for run in runs
        )
