"""Convert the records of a report to figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from crosscast_parity.judge.records import BisectionRecord, ParityReport, Run, StageRecord
from crosscast_parity.levels.envelope import distance
from crosscast_parity.levels.losses import floor_of
from crosscast_parity.recordings.trace import TraceRow
from crosscast_parity.report.figures.curves import Trajectory, curve_plot, trajectory_plot
from crosscast_parity.report.figures.evidence import Trial, bisection_plot
from crosscast_parity.report.figures.heatmap import Column, heatmap_plot
from crosscast_parity.report.figures.style import Plot, Series
from crosscast_parity.report.figures.timeline import Timeline, timeline_plot
from crosscast_parity.report.page.tensors import model_order, tensor_limits

MAIN, FAULTS = "main", "faults"
NORM_CAPTION = (
    "Global gradient norm before clipping; gaps where a window was skipped. The curves should lie"
    " on each other; one that is off by a constant factor points at scale, accumulation or clip."
)
RATE_CAPTION = (
    "Rate used in each window. The curves should coincide; a shift by one window points at"
    " the warm-up or at a schedule that ticks on skipped windows."
)


def stage_plots(report: ParityReport, stage: StageRecord) -> list[Plot]:
    """Return the figures of one stage that are not empty."""
    runs = _in_order(report, stage.name, MAIN)
    plots = [_trajectory(report, stage, runs)] if runs else []
    plots += _timeline(report, stage, FAULTS, "Loss scale with injected faults")
    if runs:
        plots += [
            curve_plot(
                _series(runs, lambda row: row.grad_norm),
                key=f"{stage.name}-gradient-norm",
                title=f"Gradient norm, {stage.name}",
                caption=NORM_CAPTION,
                label="gradient norm",
                log=True,
            ),
            curve_plot(
                _series(runs, lambda row: row.lr),
                key=f"{stage.name}-learning-rate",
                title=f"Learning rate, {stage.name}",
                caption=RATE_CAPTION,
                label="learning rate",
            ),
        ]
    plots += _timeline(report, stage, MAIN, "Loss scale")
    return plots + _heatmap(report, stage)


def order_of(report: ParityReport) -> list[str]:
    """Return the programs, the reference first, which gives each its colour."""
    names = [entrant.name for entrant in report.entrants]
    return sorted(names, key=lambda name: (name != report.reference, names.index(name)))


def _in_order(report: ParityReport, stage: str, name: str) -> dict[int, Run]:
    """Return the runs of one name that have rows, by place of the program."""
    runs = report.runs_of(stage, name)
    return {
        place: runs[contestant]
        for place, contestant in enumerate(order_of(report))
        if contestant in runs and runs[contestant].rows
    }


def _series(runs: Mapping[int, Run], value: Callable[[TraceRow], float | None]) -> list[Series]:
    return [
        Series(label=run.contestant, values=[value(row) for row in run.rows], place=place)
        for place, run in runs.items()
    ]


def _trajectory(report: ParityReport, stage: StageRecord, runs: Mapping[int, Run]) -> Plot:
    losses = _series(runs, lambda row: row.loss)
    trajectory = Trajectory(losses=losses)
    reference = next((r for r in runs.values() if r.contestant == report.reference), None)
    envelope = stage.envelope
    if reference is not None and envelope is not None:
        trajectory = Trajectory(
            reference=reference.contestant,
            losses=losses,
            distances=[
                Series(
                    label=run.contestant,
                    values=[
                        distance(a.loss, b.loss)
                        for a, b in zip(run.rows, reference.rows, strict=False)
                    ],
                    place=place,
                )
                for place, run in runs.items()
                if run is not reference
            ],
            noise=envelope.spread,
            limit=[
                envelope.limit(t, floor_of(envelope, row.loss, stage.dtype))
                for t, row in enumerate(reference.rows[: envelope.horizon])
            ],
            horizon=envelope.horizon,
            twins=envelope.twins,
            moved=envelope.moved,
        )
    return trajectory_plot(trajectory, key=f"{stage.name}-loss", title=f"Loss, {stage.name}")


def _timeline(report: ParityReport, stage: StageRecord, name: str, title: str) -> list[Plot]:
    runs = _in_order(report, stage.name, name)
    timeline = Timeline(
        scales=_series(runs, lambda row: row.scale),
        skipped=[[row.window for row in run.rows if row.skipped] for run in runs.values()],
        faults=fault_windows(stage.faults) if name == FAULTS else (),
        parted=_parted(report, list(runs.values())),
    )
    if not runs or not timeline.worth_showing:
        return []
    key = f"{stage.name}-scale" + ("-faults" if name == FAULTS else "")
    return [timeline_plot(timeline, key=key, title=f"{title}, {stage.name}")]


def fault_windows(faults: Sequence[str]) -> tuple[int, ...]:
    """Return the windows of faults written as `WINDOW:MICRO=value`."""
    window_texts = (fault.partition(":")[0] for fault in faults)
    return tuple(sorted({int(window) for window in window_texts if window.isdecimal()}))


def _parted(report: ParityReport, runs: Sequence[Run]) -> int | None:
    """Return the first window in which the scale or a skip is not that of the reference."""
    reference = next((run for run in runs if run.contestant == report.reference), None)
    if reference is None:
        return None
    windows = [
        a.window
        for run in runs
        for a, b in zip(run.rows, reference.rows, strict=False)
        if (a.scale, a.skipped) != (b.scale, b.skipped)
    ]
    return min(windows, default=None)


def _heatmap(report: ParityReport, stage: StageRecord) -> list[Plot]:
    columns = [
        Column(
            contestant=pair.contestant,
            run=key.partition("/")[2],
            errors={name: errors[name] for name in model_order(errors)},
            limit=tensor_limits(pair)[key],
        )
        for pair in report.pairs
        for key, errors in pair.tensor_errors.items()
        if key.partition("/")[0] == stage.name and errors
    ]
    if not columns:
        return []
    title = f"Error of the first gradient, {stage.name}"
    reference = report.reference or "the reference"
    key = f"{stage.name}-gradients"
    return [heatmap_plot(columns, key=key, title=title, reference=reference)]


def bisection_plots(bisections: Sequence[BisectionRecord]) -> list[Plot]:
    """Return one figure per bisection that tried something."""
    return [
        bisection_plot(
            [
                Trial(fields=step.changes, gap=step.gap, level=step.level, value=step.value)
                for step in bisection.steps
            ],
            key=f"bisection-{number}",
            title=f"Search for the cause: {bisection.contestant} against {bisection.reference}",
        )
        for number, bisection in enumerate(bisections, start=1)
        if bisection.steps
    ]


def drawn_stages(report: ParityReport) -> tuple[list[StageRecord], list[StageRecord]]:
    """Return the stages to draw: the first of every size and type, and all that failed.

    Also return the stages left out. Stages of paired seeds are in neither group.
    """
    troubled = {
        check.stage
        for pair in report.pairs
        for check in pair.checks
        if check.result in ("fail", "unclear")
    }
    drawn: list[StageRecord] = []
    others: list[StageRecord] = []
    for stage in report.stages:
        alike = any(
            (drawn_stage.weights, drawn_stage.dtype) == (stage.weights, stage.dtype)
            for drawn_stage in drawn
        )
        if stage.seed is None:
            (others if alike and stage.name not in troubled else drawn).append(stage)
    return drawn, others
