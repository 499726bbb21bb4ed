"""One fuzzed case on several targets: compile it, let the workers run it, compare."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.diagnostics import DiagnosticError, Severity
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Plan
from crosscast.reference.interpreter import run
from crosscast.targets.backend import find_target
from crosscast.targets.capability import Verdict, judge
from crosscast_parity.toy.compare import Report, compare
from crosscast_parity.toy.model import ROLES, Toy, make_toy
from crosscast_parity.toy.running import of_step, receive, run_text, send
from crosscast_parity.toy.worker import Worker, WorkerFailure
from fuzz.cases import Case
from fuzz.link import make_worker

ORDER = tuple(Verdict)
OVERRIDES = "CC208"


@dataclass
class Outcome:
    """What became of a case on one target."""

    target: str
    verdict: Verdict = Verdict.EXACT
    """The worst of all fields."""
    codes: tuple[str, ...] = ()
    """Of the refusal."""
    problems: list[str] = field(default_factory=list)
    ran: bool = False
    used: float = 0.0
    undecided: bool = False
    beyond: bool = False
    seconds: float = 0.0

    @property
    def kind(self) -> str:
        """The first problem without its numbers: cases of one kind have one cause."""
        return "".join("0" if c.isdigit() else c for c in self.problems[0].split(" is ")[0])


@dataclass
class Bench:
    """Workers by target, started when needed."""

    workers: dict[str, Worker] = field(default_factory=dict)
    gpu: bool = False

    def worker(self, target: str) -> Worker:
        """Return the worker of a target."""
        if target not in self.workers:
            self.workers[target] = make_worker(target, gpu=self.gpu)
        return self.workers[target]

    def stop(self) -> None:
        """End all workers."""
        for worker in self.workers.values():
            worker.stop()


def examine(bench: Bench, case: Case, targets: Sequence[str]) -> list[Outcome]:
    """Run a case on all targets, side by side."""
    toy = make_toy(case.recipe, case.faults)
    expected = canonical_plan(case.recipe)
    outcomes = [Outcome(target) for target in targets]
    with tempfile.TemporaryDirectory() as root:
        waiting = []
        for number, outcome in enumerate(outcomes):
            text = _compile(case, outcome, expected)
            if text is not None:
                folder = Path(root) / f"case-{number}"
                folder.mkdir()
                (folder / "step.py").write_text(text)
                send(bench.worker(outcome.target), folder, toy)
                waiting.append((outcome, folder))
        for outcome, folder in waiting:
            _collect(bench, outcome, folder, expected, toy)
    return outcomes


def compare_text(worker: Worker, text: str, case: Case) -> Report:
    """Run the text of a step and compare it with what the recipe of the case means."""
    toy = make_toy(case.recipe, case.faults)
    seen = run_text(worker, text, toy)
    return compare(canonical_plan(case.recipe), toy, seen, worker.framework)


def _compile(case: Case, outcome: Outcome, expected: Plan) -> str | None:
    """Return the text of the step to run; None if it is refused, broken or not for one process."""
    judged = judge(case.recipe, find_target(outcome.target).rows)
    outcome.verdict = max((judgement.row.verdict for judgement in judged), key=ORDER.index)
    try:
        (script,) = compile_recipe(case.recipe, [outcome.target])
        (first, second) = (
            compile_recipe(of_step(case.recipe), [outcome.target], form="step")[0] for _ in "12"
        )
    except DiagnosticError as error:
        errors = [d for d in error.diagnostics if d.severity is Severity.ERROR]
        outcome.codes = tuple(sorted({d.code for d in errors}))
        if outcome.codes == (OVERRIDES,):  # an override that this dialect does not know
            outcome.verdict = Verdict.UNSUPPORTED
        elif outcome.verdict is not Verdict.UNSUPPORTED:
            outcome.problems.append(f"refused without a row: {error}")
        return None
    except Exception as error:  # whatever a template or a lowering raises is a finding
        outcome.problems.append(f"does not compile: {type(error).__name__}: {error}")
        return None
    if outcome.verdict is Verdict.UNSUPPORTED:
        outcome.problems.append("compiled although a row says unsupported")
    if first.files != second.files:
        outcome.problems.append("compiled twice, the files differ")
    for path, file in {**script.files, **first.files}.items():
        if path.endswith(".py"):
            compile(file.text, path, "exec")
    if case.recipe.processes > 1:
        outcome.problems += _other_meaning(first.plan, expected, case)
        return None
    return first.files["step.py"].text


def _other_meaning(plan: Plan, expected: Plan, case: Case) -> list[str]:
    """Compare the plan of a target where its step cannot be run: it needs several processes."""
    toy = make_toy(case.recipe, case.faults)
    windows = [[toy.work(n)] * case.recipe.processes for n in range(len(toy.windows))]
    rows = [repr(run(p, toy.parameters, windows, ROLES).rows) for p in (plan, expected)]
    return [] if rows[0] == rows[1] else ["the plan means something else"]


def _collect(bench: Bench, outcome: Outcome, folder: Path, plan: Plan, toy: Toy) -> None:
    worker = bench.worker(outcome.target)
    try:
        seen, outcome.seconds = receive(worker, folder)
    except WorkerFailure as failure:
        outcome.problems.append(str(failure))
        return
    report = compare(plan, toy, seen, worker.framework)
    outcome.ran, outcome.used = True, report.used
    outcome.problems += report.problems
    outcome.undecided, outcome.beyond = report.undecided, report.beyond
