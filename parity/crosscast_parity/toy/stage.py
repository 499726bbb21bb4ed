"""The stage of a proof on the toy: an emitted step beside the reference, every window of it.

The step of a target runs in a process of its framework, the recipe in the reference interpreter;
both get the same gradients and the same overflows. Counts, rate, scale and the counters of the
scaler must be equal after every window (L0b), loss, norm, weights, moments and averages within the
rounding of one step (L1b, `toy.bounds`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import Form, find_target
from crosscast_parity.checks.check import Check
from crosscast_parity.planning.runs import Stage
from crosscast_parity.planning.stages import proof_stages
from crosscast_parity.processes.process import Outcome
from crosscast_parity.processes.work_done import OnProgress, Progress
from crosscast_parity.toy.causes import likely_cause
from crosscast_parity.toy.checks import NAMES, checks_of
from crosscast_parity.toy.compare import Report, Seen, compare
from crosscast_parity.toy.course import course_of
from crosscast_parity.toy.model import Toy, make_toy
from crosscast_parity.toy.running import of_step, receive, send
from crosscast_parity.toy.worker import Worker, WorkerFailure, has_toy

STAGE = "toy"
TIMEOUT = 600.0
"""Seconds for all windows of one run."""


class CompileForm(Protocol):
    """Writes directory/<target>/train.py and the rest, or step.py for the form `step`."""

    def __call__(
        self, recipe: Recipe, targets: Sequence[str], directory: Path, *, form: Form = "script"
    ) -> object:
        """Compile a recipe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyRun:
    """One finished step: its recipe, its inputs and its results."""

    name: str
    framework: str
    recipe: Recipe
    toy: Toy
    seen: Seen
    report: Report

    @property
    def cause(self) -> str:
        """What explains its first difference; empty if there is none."""
        return likely_cause(self.recipe, self.toy, self.seen, self.framework, self.report)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnToy:
    """What came of the stage. `unable`: why nothing could be run here; empty if something was."""

    checks: tuple[Check, ...] = ()
    runs: tuple[ToyRun, ...] = ()
    unable: str = ""


def step_on_toy(
    recipe: Recipe,
    target: str,
    folder: Path,
    *,
    compile_to: CompileForm,
    on_progress: OnProgress,
) -> OnToy:
    """Run the step of a target and hold every window against the reference.

    Two runs, as everywhere in a proof: a recipe in which every feature is active, and the recipe's
    own values.

    Args:
        recipe: with a model that the harness has.
        target: what is compiled to.
        folder: for the steps and what they leave.
        compile_to: the compiler.
        on_progress: called whenever a run begins or ends.

    Raises:
        DiagnosticError: the step is refused, or nothing could be written (CC708).
    """
    worker = Worker(target)
    if not has_toy(worker.framework):
        return OnToy(unable=f"the harness has no toy model for {worker.framework}")
    checks: list[Check] = []
    runs: list[ToyRun] = []
    try:
        for stage in proof_stages(recipe):
            derived = of_step(stage.derive(recipe))
            compile_to(derived, [target], folder / stage.name, form="step")
            title = f"{target} {STAGE}/{stage.name}"
            try:
                with _progress(title, on_progress):
                    run = _run(worker, derived, stage, folder / stage.name)
            except WorkerFailure as failure:
                if failure.kind == "cannot_run":
                    return OnToy(unable=failure.why)
                checks.append(_broken(failure, stage.name))
            else:
                runs.append(run)
                checks += [
                    replace(check, stage=STAGE, run=run.name)
                    for check in checks_of(run.report, run.seen.rows, run.cause)
                ]
    except OSError as error:
        message = f"{error.filename or folder}: {error.strerror or error}"
        raise DiagnosticError(Diagnostic(code="CC708", message=message)) from None
    finally:
        worker.stop()
    return OnToy(checks=tuple(checks), runs=tuple(runs))


@contextmanager
def _progress(title: str, on_progress: OnProgress) -> Iterator[None]:
    """Report the start and the end of a run, as small work compared with runs of a BERT."""
    on_progress(Progress("started", title, None, 0.0, 1.0))
    began, outcome = time.monotonic(), Outcome(kind="finished")
    try:
        yield
    except WorkerFailure as failure:
        outcome = Outcome(kind=failure.kind, message=failure.why)
        raise
    finally:
        outcome = replace(outcome, seconds=time.monotonic() - began)
        on_progress(Progress("ended", title, outcome, 0.0, 1.0))


def _run(worker: Worker, recipe: Recipe, stage: Stage, folder: Path) -> ToyRun:
    """Let a worker run the step that was compiled to a folder, and compare."""
    _check_version(worker)
    toy = make_toy(recipe, course_of(recipe, stage))
    step = next(iter(sorted(folder.glob("*/step.py"))))
    send(worker, step.parent, toy)
    seen, _ = receive(worker, step.parent, TIMEOUT)
    report = compare(canonical_plan(recipe), toy, seen, worker.framework)
    return ToyRun(
        name=stage.name,
        framework=worker.framework,
        recipe=recipe,
        toy=toy,
        seen=seen,
        report=report,
    )


def _check_version(worker: Worker) -> None:
    """Refuse a version of the framework that the target is not for, as emitted scripts do."""
    dialect = find_target(worker.target).dialect
    version = worker.ask({"action": "version"})["version"]
    release = ".".join(re.findall(r"\d+", version)[:2])
    # Development builds may call themselves 0.0.0.
    if release.strip("0.") and not dialect.covers(release):
        words = f"the step is for {dialect.title}, not for {version}"
        raise WorkerFailure(words, kind="cannot_run")


def _broken(failure: WorkerFailure, run: str) -> Check:
    """Return the check of a step that came to no end; one that was too slow may still be right."""
    last = failure.log.strip().splitlines()[-1:] if failure.kind == "failed" else []
    return Check(
        level="L0b",
        name=NAMES["L0b"],
        result="unclear" if failure.kind == "timeout" else "fail",
        wording=": ".join([failure.why, *last]),
        stage=STAGE,
        run=run,
    )
