"""The section of results over paired seeds (L3): differences, intervals, margins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from crosscast_parity.checks.check import Check, Result, number
from crosscast_parity.checks.statistics import paired_interval
from crosscast_parity.judge.records import ParityReport, Run
from crosscast_parity.levels.seeds import SeedResult, train_loss_tail
from crosscast_parity.report.figures.seeds import Judgement, SeedLine, SeedPanel, seeds_plot
from crosscast_parity.report.page.blocks import Block, Figure, Table, cells
from crosscast_parity.report.page.figures import MAIN, order_of

METRICS: Mapping[str, Callable[[SeedResult], float | None]] = {
    "training loss": lambda result: result.train_loss_tail,
    "eval loss": lambda result: result.eval_loss,
    "accuracy": lambda result: result.eval_accuracy,
}
"""Name of the L3 check to the value it compares."""
_JUDGEMENTS: dict[Result, Judgement] = {
    "pass": "equivalent",
    "fail": "different",
    "unclear": "inconclusive",
}


def seed_blocks(report: ParityReport) -> list[Block]:
    """Return the figure of paired differences and the table of all results."""
    results = seed_results(report)
    if not results:
        return []
    panels = [panel for metric in METRICS if (panel := _panel(report, results, metric)).lines]
    blocks: list[Block] = []
    if panels:
        plot = seeds_plot(
            panels,
            key="seeds",
            title="Results over paired seeds",
            reference=report.reference or "the reference",
        )
        blocks.append(Figure(plot=plot))
    return [*blocks, _table(report, results)]


def seed_results(report: ParityReport) -> dict[str, dict[int, SeedResult]]:
    """Return the result of every program and seed, of stages that are pairs of L3."""
    by_program: dict[str, dict[int, SeedResult]] = {}
    for stage in report.stages:
        if stage.seed is None:
            continue
        for name, run in report.runs_of(stage.name, MAIN).items():
            if run.outcome.complete:
                by_program.setdefault(name, {})[stage.seed] = _result(stage.seed, run)
    return by_program


def _result(seed: int, run: Run) -> SeedResult:
    evaluation = run.outcome.status.eval if run.outcome.status else None
    return SeedResult(
        seed=seed,
        train_loss_tail=train_loss_tail(run.rows),
        eval_loss=evaluation.loss if evaluation else None,
        eval_accuracy=evaluation.accuracy if evaluation else None,
    )


def _panel(
    report: ParityReport, results: Mapping[str, Mapping[int, SeedResult]], metric: str
) -> SeedPanel:
    places = {name: place for place, name in enumerate(order_of(report))}
    lines = []
    margin = 0.0
    rows = next((s.eval_rows for s in report.stages if s.seed is not None), None)
    step = 1.0 / rows if rows and metric == "accuracy" else 0.0
    for pair in report.pairs:
        check = next((c for c in pair.checks if (c.level, c.name) == ("L3", metric)), None)
        ours, reference = results.get(pair.contestant), results.get(pair.reference)
        if check is None or not check.limit or not ours or not reference:
            continue
        values = [
            (METRICS[metric](ours[s]), METRICS[metric](reference[s]))
            for s in ours
            if s in reference
        ]
        pairs = [(a, b) for a, b in values if a is not None and b is not None]
        if pairs and check.result in _JUDGEMENTS:
            margin = check.limit
            place = places.get(pair.contestant, 0)
            lines.append(_line(pair.contestant, place, pairs, check, step))
    return SeedPanel(metric=metric, margin=margin, lines=lines)


def _line(
    contestant: str,
    place: int,
    pairs: Sequence[tuple[float, float]],
    check: Check,
    step: float,
) -> SeedLine:
    interval = paired_interval([a for a, _ in pairs], [b for _, b in pairs], step=step)
    return SeedLine(
        contestant=contestant,
        place=place,
        differences=[a - b for a, b in pairs],
        mean=interval.mean,
        low=interval.low,
        high=interval.high,
        judgement=_JUDGEMENTS[check.result],
    )


def _table(report: ParityReport, results: Mapping[str, Mapping[int, SeedResult]]) -> Table:
    rows = []
    for seed in sorted({seed for result in results.values() for seed in result}):
        for name in order_of(report):
            result = results.get(name, {}).get(seed)
            if result is not None:
                values = [number(value(result)) for value in METRICS.values()]
                rows.append(cells(str(seed), name, *values))
    return Table(
        title="Results of every seed",
        head=("seed", "program", "training loss, last 20 windows", "eval loss", "accuracy"),
        rows=rows,
        folded=True,
    )
