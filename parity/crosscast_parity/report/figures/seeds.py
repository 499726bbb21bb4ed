"""Results over seeds: paired differences, their intervals and the limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from crosscast_parity.report.figures.style import (
    COLORS,
    INK,
    NOISE,
    Plot,
    finish,
    new_figure,
    short,
)

CAPTION = (
    "Each dot is one seed: the result of the contestant minus that of {reference} with the "
    "same weights and batch order. The bar is the 90 % confidence interval of the mean "
    "difference. Equivalent: the whole bar is inside the gray band; different: all of it is "
    "outside; otherwise more seeds are needed."
)
Judgement = Literal["equivalent", "different", "inconclusive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedLine:
    """One contestant in one metric: differences per seed, their mean and interval."""

    contestant: str
    place: int
    differences: Sequence[float]
    mean: float
    low: float
    high: float
    judgement: Judgement


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedPanel:
    """One metric. `margin`: largest mean difference that counts as the same."""

    metric: str
    margin: float
    lines: Sequence[SeedLine]


def seeds_plot(panels: Sequence[SeedPanel], *, key: str, title: str, reference: str) -> Plot:
    """Draw a panel per metric: margin as a band, interval as a bar, seeds as dots."""
    most = max(len(panel.lines) for panel in panels)
    with new_figure(key, 1.5 + 0.5 * most, wide=True) as figure:
        row = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, panel in zip(row, panels, strict=True):
            _panel(axes, panel)
        caption = CAPTION.format(reference=reference)
        return finish(figure, key=key, title=title, caption=caption, wide=True)


def _panel(axes: Any, panel: SeedPanel) -> None:
    axes.axvspan(-panel.margin, panel.margin, color=NOISE, alpha=0.2, linewidth=0)
    axes.axvline(0, color=INK, linewidth=0.8, alpha=0.5)
    for edge in (-panel.margin, panel.margin):
        axes.axvline(edge, color=INK, linewidth=1.0, linestyle=(0, (4, 2)))
    for y, line in enumerate(panel.lines):
        color = COLORS[line.place % len(COLORS)]
        dots = [value for value in line.differences if math.isfinite(value)]
        axes.plot(dots, [y + 0.22] * len(dots), "o", color=color, markersize=4.5, alpha=0.65)
        if math.isfinite(line.low) and math.isfinite(line.high):
            ends = [line.low, line.high]
            axes.plot(ends, [y, y], color=color, linewidth=3, solid_capstyle="butt")
            axes.plot(ends, [y, y], "|", color=color, markersize=11, markeredgewidth=2)
            axes.plot([line.mean], [y], "D", color=INK, markersize=4.5)
    axes.set_title(f"{short(panel.metric, 40)} (margin ±{panel.margin:g})")
    labels = [f"{short(line.contestant, 20)}\n{line.judgement}" for line in panel.lines]
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    reach = [abs(v) for line in panel.lines for v in (line.low, line.high, *line.differences)]
    widest = max([panel.margin, *(v for v in reach if math.isfinite(v))])
    axes.set_xlim(-1.15 * widest, 1.15 * widest)
    axes.xaxis.set_major_formatter("{x:.3g}")
    axes.set_xlabel("difference from reference")
