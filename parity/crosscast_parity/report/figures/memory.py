"""Memory by component: a stacked bar for every variant of a recipe, and the limit as a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from crosscast.memory.records import COMPONENTS
from crosscast_parity.report.figures.style import (
    BAD,
    COLORS,
    INK,
    NOISE,
    Plot,
    finish,
    new_figure,
)

GIB = 2**30
BAR = 0.3
"""Inches of height of one bar."""
HATCHES = ("", "////", "....")
"""Colours come again with another hatch, so that all components can be told apart."""
CAPTION = (
    "Estimated bytes allocated at the peak, by component; the gray part on top is the "
    "margin. A bar that crosses the line does not fit."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One way to run the recipe. `parts`: bytes by component."""

    label: str
    parts: Mapping[str, int]
    margin: int


def memory_plot(groups: Mapping[str, Sequence[Bar]], limit: int, *, title: str) -> Plot:
    """Draw the bars of every target, one panel a target, side by side.

    Args:
        groups: Target to its bars, from top to bottom.
        limit: Bytes that may be used.
        title: For people who cannot see the figure.
    """
    present = {part for bars in groups.values() for bar in bars for part in bar.parts}
    names = [name for name in COMPONENTS if name in present]
    most = max(len(bars) for bars in groups.values())
    with new_figure("memory", 1.5 + BAR * most, wide=len(groups) > 1) as figure:
        panels = figure.subplots(1, len(groups), squeeze=False, sharex=True)[0]
        for axes, (target, bars) in zip(panels, groups.items(), strict=True):
            _draw(axes, bars, names)
            axes.axvline(limit / GIB, color=BAD, linewidth=1.4, label="limit")
            axes.set_ylim(most - 0.5, -0.5)
            axes.set_xlabel("GiB")
            axes.set_title(target)
            axes.grid(axis="y", visible=False)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))
        _legend(figure, panels)
        return finish(figure, key="memory", title=title, caption=CAPTION, wide=len(groups) > 1)


def _legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """Put one legend for all panels above them, the limit last."""
    by_label: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        by_label |= dict(zip(labels, handles, strict=True))
    labels = sorted(by_label, key=lambda name: (name == "limit", name == "margin"))
    columns = 4 if len(panels) == 1 else 9
    figure.legend([by_label[n] for n in labels], labels, loc="outside upper left", ncols=columns)


def _draw(axes: Axes, bars: Sequence[Bar], names: Sequence[str]) -> None:
    places = range(len(bars))
    left = [0.0] * len(bars)
    for number, name in enumerate(names):
        sizes = [bar.parts.get(name, 0) / GIB for bar in bars]
        axes.barh(
            places,
            sizes,
            left=left,
            label=name,
            color=COLORS[number % len(COLORS)],
            hatch=HATCHES[number // len(COLORS) % len(HATCHES)],
            edgecolor="white",
            linewidth=0.4,
            height=0.7,
        )
        left = [a + b for a, b in zip(left, sizes, strict=True)]
    axes.barh(
        places,
        [bar.margin / GIB for bar in bars],
        left=left,
        label="margin",
        color=NOISE,
        alpha=0.45,
        edgecolor=INK,
        linewidth=0.2,
        height=0.7,
    )
    axes.set_yticks(places, [bar.label for bar in bars])
