"""The evaluations that runs of custom models report, computed again in processes of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from crosscast.data.npz import read_arrays
from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.checks.check import Check
from crosscast_parity.inputs.weights import perturb
from crosscast_parity.judge.judgement_data import CHECKS
from crosscast_parity.levels.custom_evaluation import check_custom_evaluation, rounding_of
from crosscast_parity.levels.evaluation import NOTHING
from crosscast_parity.levels.tensor_checks import untested
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.runs import STRESSED
from crosscast_parity.recordings.left_files import AVERAGES, WEIGHTS, read_tensors
from crosscast_parity.recordings.status import Evaluation
from crosscast_parity.runs.outcomes import FinishedRun, StageResult
from crosscast_parity.toy.worker import Worker
from crosscast_parity.weights.rows import rows_of
from crosscast_parity.weights.workers import Processes, workers_of

MAIN = "main"
"""The run whose evaluation is computed again, as is that of a stressed one: the losses of rows
differ there also where training has just begun. Others have the same code."""
ALL_ROWS = 2**31


def evaluation_checks(
    contestants: Sequence[Contestant], results: Sequence[StageResult], *, timeout: float
) -> dict[str, tuple[Check, ...]]:
    """Return by contestant the checks of what its runs of custom models report.

    Args:
        contestants: The programs.
        results: The stages.
        timeout: Seconds for one evaluation.
    """

    def checks_of(contestant: Contestant) -> tuple[Check, ...]:
        return tuple(_checks(contestant, results, timeout))

    with ThreadPoolExecutor(max_workers=max(1, len(contestants))) as threads:
        checked = threads.map(checks_of, contestants)
        return {c.name: checks for c, checks in zip(contestants, checked, strict=True)}


def _checks(
    contestant: Contestant, results: Sequence[StageResult], timeout: float
) -> Iterator[Check]:
    workers = workers_of([contestant.target], {contestant.target: contestant.python})
    try:
        for result in results:
            stressed = [
                finished for name in STRESSED if (finished := result.of(contestant.name, name))
            ]
            for finished in (result.of(contestant.name, MAIN), *stressed[:1]):
                if result.custom is None or finished is None:
                    continue
                model = _Model(contestant, result.custom.folder, finished, workers, timeout)
                for check in _of_run(result, finished, model):
                    yield replace(check, stage=finished.spec.stage, run=finished.spec.name)
    finally:
        for worker in workers.values():
            worker.stop()


@dataclass(frozen=True, slots=True)
class _Model:
    """The model of a run in a process. `folder`: of the recipe."""

    contestant: Contestant
    folder: Path
    finished: FinishedRun
    workers: Mapping[str, Worker]
    timeout: float

    def checks(self, name: str, files: Sequence[str], reported: Evaluation) -> tuple[Check, ...]:
        """Evaluate the weights in some files; those of later ones replace those of earlier ones.

        Raises:
            DiagnosticError: CC710 for files without them, CC761, CC762 for the user's code.
        """
        recipe, evaluated = self.finished.spec.recipe, self.finished.spec.evaluated
        framework, batch = self.contestant.framework, recipe.batch.micro_batch_size
        weights: dict[str, np.ndarray] = {}
        for file in files:
            weights |= read_tensors(self.finished.folder / file)
        with Processes(
            recipe,
            [self.contestant.target],
            self.folder,
            rows_of(evaluated, recipe, ALL_ROWS),
            python={},
            timeout=self.timeout,
            workers=self.workers,
            most=None,
        ) as processes:
            moved = perturb(weights, recipe.seed, rounding_of(recipe))

            def values(metric: str = "") -> tuple[list[np.ndarray], list[np.ndarray]]:
                exact = processes.evaluate(framework, weights, batch, metric)
                return exact, processes.evaluate(framework, moved, batch, metric)

            outputs, metrics = values(), {name: values(name) for name in recipe.metrics.custom}
        rows = read_arrays(evaluated)
        checks = check_custom_evaluation(recipe, *outputs, rows, reported, name, metrics)
        return tuple(checks)


def _of_run(result: StageResult, finished: FinishedRun, model: _Model) -> Iterator[Check]:
    status = finished.run.outcome.status
    if status is None or status.status != "finished" or status.eval is None:
        return  # `levels.evaluation` says so
    reports = [("evaluation", [WEIGHTS], status.eval)]
    if finished.spec.recipe.ema.decay:
        averages = status.eval.averages or NOTHING
        reports.append(("evaluation of averages", [WEIGHTS, AVERAGES], averages))
    for name, files, reported in reports:
        inputs = result.judgement_inputs(recipe=finished.spec.recipe, name=name)

        def judged(
            name: str = name, files: Sequence[str] = files, reported: Evaluation = reported
        ) -> tuple[Check, ...]:
            return model.checks(name, files, reported)

        try:
            yield from result.judgements.recall(
                CHECKS, "evaluation of a custom model", [finished.folder], inputs, judged
            )
        except DiagnosticError as error:
            yield untested("L1d", f"{name} loss", error.diagnostics[0].message)
