"""Compile a recipe for several targets, run what was emitted, compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from crosscast.bert_shapes import bert_shapes
from crosscast.canonical import canonical_plan
from crosscast.diagnostics import Diagnostic, DiagnosticError
from crosscast.plan import Plan
from crosscast.recipe import Recipe
from crosscast_parity.exchange import refuse_incomparable, write_inputs
from crosscast_parity.half import choose_execution
from crosscast_parity.inside.inject import Fault
from crosscast_parity.levels.machine import check_faults, check_machine
from crosscast_parity.levels.traces import Envelope, measure_envelope
from crosscast_parity.options import Options
from crosscast_parity.process import Job, Outcome, run_jobs
from crosscast_parity.records import Pair, ParityReport, Run
from crosscast_parity.tasks import Task, TaskMaker, place_runner, prepare_output
from crosscast_parity.traces import Row, read_trace
from crosscast_parity.verdict import judge_pair

CompileTo = Callable[[Recipe, Sequence[str], Path], object]
"""`compile_to(recipe, targets, directory)` writes directory/<target>/train.py and the rest."""
OnEnd = Callable[[str, Outcome], None]


def ignore(name: str, outcome: Outcome) -> None:
    """Say nothing when a run ends."""


def run_parity(
    recipe: Recipe, *, options: Options, compile_to: CompileTo, on_end: OnEnd = ignore
) -> ParityReport:
    """Run a recipe on every target and compare the traces.

    Args:
        recipe: what to compare; dropout must be 0.
        options: targets, folder, numbers of windows, twins, threads and jobs.
        compile_to: the compiler, passed in so that the harness does not depend on it.
        on_end: called with name and outcome whenever a process has ended.

    Raises:
        DiagnosticError: the recipe cannot be compared, or nothing could be written. What happens
            to a process is never an error here, it is in the report.
    """
    refuse_incomparable(recipe)
    faults = choose_faults(recipe, options)
    try:
        return _run(recipe, options, faults, compile_to, on_end)
    except OSError as error:
        where = error.filename or options.workdir
        raise DiagnosticError(
            Diagnostic(code="CC708", message=f"{where}: {error.strerror or error}")
        ) from None


def choose_faults(recipe: Recipe, options: Options) -> tuple[Fault, ...]:
    """Return the faults to inject: those asked for, else three where the loss is scaled.

    Raises:
        DiagnosticError: CC706 if faults were asked for without loss scaling, CC705 if one lies
            outside a window, CC712 if one names no parameter.
    """
    last = recipe.accumulation.steps - 1
    if options.faults is None:
        if not recipe.scaling_on:
            return ()
        return (Fault(2, 0, "inf"), Fault(3, last, "nan"), Fault(6, last, "inf"))
    if options.faults and not recipe.scaling_on:
        raise DiagnosticError(
            Diagnostic(
                code="CC706",
                path="loss_scaling.mode",
                message="without loss scaling nothing looks for inf or nan: no skip can be tested",
                hint="leave out --fault, or set loss_scaling.mode: dynamic",
            )
        )
    for fault in options.faults:
        if fault.micro > last:
            message = f"fault {fault}: a window has the micro-batches 0 to {last}"
            raise DiagnosticError(Diagnostic(code="CC705", message=message))
        _refuse_unknown_names(fault, recipe)
    return options.faults


def _refuse_unknown_names(fault: Fault, recipe: Recipe) -> None:
    if fault.of_input:
        message = f"fault {fault}: the inputs of BERT are whole numbers, which hold no {fault.kind}"
        raise DiagnosticError(Diagnostic(code="CC712", message=message))
    if fault.names and not fault.chooses(bert_shapes(refuse_incomparable(recipe))):
        raise DiagnosticError(
            Diagnostic(
                code="CC712",
                message=f"fault {fault}: no parameter has such a name",
                hint="names are those of weight files, for example 2:1=inf@classifier.*",
            )
        )


def _run(
    recipe: Recipe,
    options: Options,
    faults: tuple[Fault, ...],
    compile_to: CompileTo,
    on_end: OnEnd,
) -> ParityReport:
    execution = choose_execution(recipe, options)
    folder = options.workdir / "inputs"
    folder.mkdir(parents=True, exist_ok=True)
    compile_to(recipe, options.targets, options.workdir)
    inputs = write_inputs(recipe, folder, options.twins)
    place_runner(options.workdir)
    total = recipe.schedule.total_steps
    windows = min(options.windows or total, total)
    tasks = TaskMaker(options, inputs, windows, faults, execution)
    plan = canonical_plan(recipe)
    first = tasks.first()
    # Cores that wait for the slowest target may as well run the twins of the likely reference.
    spare = options.jobs > 1 and len(options.targets) > 1
    early = tasks.twins(options.reference) if spare else []
    done = _execute([*first, *early], plan, faults, options.jobs, on_end)
    runs, twins = done[: len(first)], done[len(first) :]
    reference = choose_reference(runs, options.reference)
    if reference is None or not _worth_twins(runs):
        twins = []
    elif not early or reference.target != options.reference:
        twins = _execute(tasks.twins(reference.target), plan, (), options.jobs, on_end)
    envelope = _envelope(reference, twins)
    return ParityReport(
        recipe=recipe.name,
        dtype=recipe.precision.compute_dtype,
        device=options.device,
        windows=windows,
        threads=options.threads,
        reference=reference.target if reference else None,
        requested_reference=options.reference,
        faults=tuple(str(fault) for fault in faults),
        runs=(*runs, *twins),
        pairs=_pairs(runs, reference, envelope, recipe),
        envelope=envelope,
    )


def _execute(
    tasks: Sequence[Task], plan: Plan, faults: tuple[Fault, ...], limit: int, on_end: OnEnd
) -> list[Run]:
    def ended(job: Job, outcome: Outcome) -> None:
        (job.output / "checkpoint.safetensors").unlink(missing_ok=True)  # large, not looked at
        on_end(job.name, outcome)

    for task in tasks:
        prepare_output(task.job)
    outcomes = run_jobs([task.job for task in tasks], limit=limit, on_end=ended)
    return [
        finish_run(task, outcome, plan, faults)
        for task, outcome in zip(tasks, outcomes, strict=True)
    ]


def finish_run(task: Task, outcome: Outcome, plan: Plan, faults: tuple[Fault, ...]) -> Run:
    """Read what a process left and check it on its own (L0b)."""
    rows: tuple[Row, ...] = ()
    try:
        rows = read_trace(task.job.output / "trace.jsonl", partial=not outcome.complete)
        stated = outcome.status.windows if outcome.status else None
        if outcome.complete and stated not in (None, len(rows)):
            message = f"the trace has {len(rows)} rows, status.json says {stated} windows"
            outcome = replace(outcome, kind="failed", message=message)
    except DiagnosticError as error:
        found = error.diagnostics[0]
        place = f"{found.span}: " if found.span else ""
        outcome = replace(outcome, kind="failed", message=f"{place}{found.code} {found.message}")
    run = Run(
        name=task.job.name,
        target=task.target,
        role=task.role,
        execution=task.execution,
        outcome=outcome,
        rows=rows,
    )
    if not outcome.complete or task.role == "twin":
        return run
    checks = check_machine(plan, rows)
    if task.role == "faults":
        checks = (*checks, check_faults(faults, rows))
    return replace(run, checks=checks)


def choose_reference(runs: Sequence[Run], wanted: str) -> Run | None:
    """Return the plain run to compare with: the wanted one if it is whole, else the first whole."""
    whole = [run for run in runs if run.role == "main" and run.outcome.complete]
    order = sorted(whole, key=lambda r: (r.target != wanted, r.outcome.kind != "finished"))
    return order[0] if order else None


def _worth_twins(runs: Sequence[Run]) -> bool:
    """Whether there is something to compare with the reference, and nobody pressed Ctrl-C."""
    whole = [run for run in runs if run.role == "main" and run.outcome.complete]
    return len(whole) > 1 and all(run.outcome.kind != "interrupted" for run in runs)


def _envelope(reference: Run | None, twins: Sequence[Run]) -> Envelope | None:
    if reference is None:
        return None
    whole = [twin.rows for twin in twins if twin.outcome.complete]
    return measure_envelope(reference.rows, whole)


def _pairs(
    runs: Sequence[Run], reference: Run | None, envelope: Envelope | None, recipe: Recipe
) -> tuple[Pair, ...]:
    poisoned = {run.target: run for run in runs if run.role == "faults"}
    return tuple(
        judge_pair(
            run,
            reference,
            envelope,
            dtype=recipe.precision.compute_dtype,
            faults=(
                poisoned.get(run.target),
                poisoned.get(reference.target) if reference else None,
            ),
        )
        for run in runs
        if run.role == "main" and run is not reference
    )
