"""The figures of a report as SVG text: no network, no dates, the same bytes for the same runs."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from crosscast_parity.levels.traces import LIMITS, distance
from crosscast_parity.records import ParityReport, Run
from crosscast_parity.traces import Row

COLORS = ("#2f7fc1", "#d97b29", "#2f9e75", "#9b62b5", "#b8952e", "#c2506b")
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), "-.", "-", "--")
NOISE = "#8a8f98"
LIMIT = "#c9463d"
INK = "#010203"
"""Stands for the text colour of the page, which depends on light or dark."""

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # names of targets are text
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": INK,
    "grid.alpha": 0.1,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "ytick.minor.width": 0.0,
    "lines.linewidth": 1.5,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
}


@dataclass(frozen=True, slots=True)
class Plot:
    """One figure with its heading and what one sees in it."""

    title: str
    caption: str
    svg: str


@dataclass(frozen=True, slots=True)
class _Line:
    label: str
    values: Sequence[float | None]
    color: str
    dash: Any = "-"
    width: float = 1.5
    fill: bool = False


def draw_plots(report: ParityReport) -> list[Plot]:
    """Return the figures of a report, those that have something to show."""
    runs = [run for run in report.main_runs() if run.rows]
    if not runs:
        return []
    plots = [_draw("Loss", "mean loss of each window", _lines(report, runs, lambda row: row.loss))]
    plots += _deviation(report, runs)
    plots += [
        _draw(
            "Gradient norm",
            "global norm before clipping, gaps where a window was skipped",
            _lines(report, runs, lambda row: row.grad_norm),
            log=True,
        ),
        _draw(
            "Learning rate", "rate used in each window", _lines(report, runs, lambda row: row.lr)
        ),
    ]
    poisoned = [run for run in report.runs if run.role == "faults" and run.rows]
    plots += _scale(report, "Loss scale", "scale used in each window", runs)
    caption = "poisoned windows back the scale off"
    return plots + _scale(report, "Loss scale with faults", caption, poisoned)


def _lines(
    report: ParityReport, runs: Iterable[Run], value: Callable[[Row], float | None]
) -> list[_Line]:
    return [
        _Line(run.target, [value(row) for row in run.rows], *_look(report, run.target))
        for run in runs
    ]


def _look(report: ParityReport, target: str) -> tuple[str, Any]:
    """Return colour and dash of a target, the same in all figures."""
    place = [run.target for run in report.main_runs()].index(target) % len(COLORS)
    return COLORS[place], DASHES[place]


def _deviation(report: ParityReport, runs: Sequence[Run]) -> list[Plot]:
    """|loss - reference loss| with the measured noise and the limit drawn from it."""
    reference = next((run for run in runs if run.target == report.reference), None)
    envelope = report.envelope
    if reference is None or envelope is None or not envelope.spread:
        return []
    floor = LIMITS[report.dtype].floor
    lines = [
        _Line("noise of the reference", envelope.spread, NOISE, width=1.0, fill=True),
        _Line(
            "limit",
            [envelope.limit(t, floor) for t in range(len(envelope.spread))],
            LIMIT,
            (0, (4, 2)),
            1.0,
        ),
    ]
    for run in runs:
        if run is not reference:
            values = [
                distance(a.loss, b.loss) for a, b in zip(run.rows, reference.rows, strict=False)
            ]
            lines.append(_Line(run.target, values, *_look(report, run.target)))
    caption = (
        f"distance from {reference.target} (0 is not drawn), its own noise under 1e-7 changes of"
        f" the weights ({envelope.twins} runs), and the limit, which counts up to the horizon"
    )
    horizon = envelope.horizon if envelope.horizon < len(envelope.spread) else None
    return [_draw("Difference of the loss", caption, lines, log=True, horizon=horizon)]


def _scale(report: ParityReport, title: str, caption: str, runs: Sequence[Run]) -> list[Plot]:
    if len({row.scale for run in runs for row in run.rows}) < 2:
        return []
    lines = _lines(report, runs, lambda row: row.scale)
    return [_draw(title, caption, lines, log=True, steps=True)]


def _draw(
    title: str,
    caption: str,
    lines: Sequence[_Line],
    *,
    log: bool = False,
    steps: bool = False,
    horizon: int | None = None,
) -> Plot:
    # The salt makes the ids of a figure its own: all figures share one page.
    with rc_context(_STYLE | {"svg.hashsalt": f"crosscast {title}"}):
        figure = Figure(figsize=(6.4, 2.9), layout="constrained")
        axes = figure.add_subplot()
        drawn = [_drawable(line, log=log) for line in lines]
        for line, values in zip(lines, drawn, strict=True):
            _plot(axes, line, values, steps=steps)
        found = [value for values in drawn for value in values if not math.isnan(value)]
        _scale_axis(axes, found, log=log, base=2 if steps else 10)
        if horizon is not None:
            axes.axvline(horizon, color=INK, linewidth=0.8, alpha=0.5)
            axes.text(horizon, 1.0, " horizon", transform=axes.get_xaxis_transform(), va="top")
        axes.set_xlabel("window")
        axes.margins(x=0.01)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=5, borderaxespad=0.2)
        buffer = io.StringIO()
        figure.savefig(
            buffer,
            format="svg",
            transparent=True,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    return Plot(title, caption, _inline(buffer.getvalue()))


def _scale_axis(axes: Any, values: Sequence[float], *, log: bool, base: int) -> None:
    if log and values:
        axes.set_yscale("log", base=base)
        if base == 10 and max(values) < 100 * min(values):
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    # Plain text: with math text off, the default labels would show their markup.
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))


def _plot(axes: Any, line: _Line, values: Sequence[float], *, steps: bool) -> None:
    windows = range(len(values))
    alone = {"marker": "o", "markersize": 3} if len(values) < 3 else {}
    axes.plot(
        windows,
        values,
        label=line.label,
        drawstyle="steps-post" if steps else "default",
        color=line.color,
        linestyle=line.dash,
        linewidth=line.width,
        **alone,
    )
    if line.fill:
        bottom = min((value for value in values if not math.isnan(value)), default=0.0)
        axes.fill_between(windows, values, bottom, color=line.color, alpha=0.15, linewidth=0)


def _drawable(line: _Line, *, log: bool) -> list[float]:
    """Return the values with nan for what cannot be drawn: not finite, or 0 on a log axis."""
    return [
        v if v is not None and math.isfinite(v) and (v > 0 or not log) else math.nan
        for v in line.values
    ]


def _inline(svg: str) -> str:
    """Return the svg element alone, in the colours and the typeface of the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<(metadata|style)\b.*?</\1>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r"font-family: [^;\"]*;? ?", "", svg)
    return svg.replace(INK, "currentColor")
