"""Made-up traces of Paddle, judged against the good one of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from crosscast.plan.operations import Dtype
from crosscast_parity.checks.check import Check
from crosscast_parity.compare.report_builder import Outcomes, report_of
from crosscast_parity.inputs.shared import Inputs
from crosscast_parity.judge.records import Pair, ParityReport, Run
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import make_options
from crosscast_parity.planning.runs import RunSpec
from crosscast_parity.planning.stages import make_stages
from crosscast_parity.processes.process import Outcome, OutcomeKind
from crosscast_parity.recordings.trace import TraceRow
from crosscast_parity.runs.outcomes import FinishedRun, StageResult
from crosscast_parity.runs.workspace import Workspace
from parity_fakes import good_rows, make_recipe

TWINS = [good_rows(noise=size) for size in (1e-7, 1e-6, 2e-6)]
FULL_WINDOWS = {"train_rows": 640}
"""As the traces that are made up here: 16 rows in each of 40 windows."""
NOWHERE = Path("nowhere")
INPUTS = Inputs(
    train=NOWHERE,
    brief=NOWHERE,
    eval=NOWHERE,
    few=NOWHERE,
    held=NOWHERE,
    weights=NOWHERE,
    stress=NOWHERE,
    twins=(),
)


def ended(kind: OutcomeKind = "finished", message: str = "") -> Outcome:
    return Outcome(kind=kind, message=message)


def reported(
    ours: list[TraceRow],
    reference: list[TraceRow],
    twins: list[list[TraceRow]],
    *,
    dtype: Dtype = "float32",
    outcome: Outcome | None = None,
    compared: bool = True,
) -> ParityReport:
    """Report on made-up traces of paddle and torch; only `outcome`, of paddle, is not good."""
    recipe = make_recipe(data=FULL_WINDOWS, precision={"mode": "mixed", "compute_dtype": dtype})
    (stage,) = make_stages(recipe, "model", windows=40, twins=3)
    names = ("torch", "paddle")
    result = StageResult(
        stage, dict.fromkeys(names, recipe), (), dict(zip(names, names, strict=True))
    )
    traces = {("torch", "main"): reference, ("paddle", "main"): ours}
    traces |= {("torch", f"twin-{n}"): rows for n, rows in enumerate(twins, start=1)}
    for (name, kind), rows in traces.items():
        spec = RunSpec(
            contestant=name,
            stage=stage.name,
            name=kind,
            variant="main",
            recipe=recipe,
            inputs=INPUTS,
            weights=NOWHERE,
            windows=40,
        )
        how = (outcome if name == "paddle" else None) or ended()
        run = Run(contestant=name, stage=stage.name, name=kind, outcome=how, rows=tuple(rows))
        result.finished[name, kind] = FinishedRun(spec=spec, run=run, folder=NOWHERE)
    options = make_options(NOWHERE)
    programs = {
        name: Contestant(name=name, target=name, recipe=recipe, python="", script=NOWHERE)
        for name in ("torch", "paddle")
    }
    outcomes = Outcomes(
        options=options,
        contestants=programs,
        wanted="torch",
        execution={"torch": "native", "paddle": "native"},
        results=[result],
        scripts=Workspace(options, lambda *_: None),
        stressed=(),
    )
    return report_of(outcomes, "torch" if compared else None)


def paddle_of(report: ParityReport) -> Pair:
    return next(pair for pair in report.pairs if pair.contestant == "paddle")


def judged(
    rows: list[TraceRow],
    *,
    dtype: Dtype = "float32",
    twins: list[list[TraceRow]] | None = None,
    outcome: Outcome | None = None,
) -> Pair:
    """Judge a trace against the good one."""
    given = TWINS if twins is None else twins
    return paddle_of(reported(rows, good_rows(), given, dtype=dtype, outcome=outcome))


def failed(checks: tuple[Check, ...]) -> set[tuple[str, str]]:
    return {(check.level, check.name) for check in checks if check.result == "fail"}


def changed(windows: range | list[int], change: Callable[[TraceRow], TraceRow]) -> list[TraceRow]:
    return [change(row) if row.window in windows else row for row in good_rows()]
