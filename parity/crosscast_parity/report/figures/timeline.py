"""The loss scale over time, with skipped windows and injected faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crosscast_parity.report.figures.style import (
    BAD,
    INK,
    Plot,
    Series,
    beside,
    draw,
    finish,
    legend_above,
    log_axis,
    look,
    new_figure,
    plain_numbers,
    short,
)

CAPTION = (
    "Above: loss scale used in each window, one line per contestant, on each other if they agree."
    " Below: a mark for each window that was skipped; every injected fault (triangle) must have"
    " one straight below it in every row, and a mark without a triangle is a natural overflow."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Scales and skipped windows of one run in all contestants, and the windows with faults.

    `parted`: first window in which a scale or a skip differs from the reference.
    """

    scales: Sequence[Series]
    skipped: Sequence[Sequence[int]]
    faults: Sequence[int] = ()
    parted: int | None = None

    @property
    def worth_showing(self) -> bool:
        """Whether anything happens: a scale moves, a window is skipped, a fault is injected."""
        values = {value for series in self.scales for value in series.values}
        return len(values) > 1 or any(self.skipped) or bool(self.faults)


def timeline_plot(timeline: Timeline, *, key: str, title: str) -> Plot:
    """Draw the scale as steps and a strip of skipped windows per contestant below."""
    lanes = len(timeline.scales) + bool(timeline.faults)
    with new_figure(key, 2.9 + 0.24 * lanes) as figure:
        ratios = {"height_ratios": (2.3, 0.24 * lanes)}
        above, below = figure.subplots(2, 1, sharex=True, gridspec_kw=ratios)
        for series in timeline.scales:
            draw(above, series, series.drawable(log=True), steps=True)
        log_axis(above, [v for s in timeline.scales for v in s.drawable(log=True)], base=2)
        plain_numbers(above.yaxis)
        above.set_ylabel("loss scale")
        above.margins(x=0.01, y=0.12)
        legend_above(above)
        _lanes(below, timeline)
        if timeline.parted is not None:
            for axes in (above, below):
                axes.axvline(timeline.parted, color=BAD, linewidth=1.0, linestyle=(0, (2, 2)))
            _name_the_window(above, timeline.parted, len(timeline.scales[0].values))
        return finish(figure, key=key, title=title, caption=CAPTION)


def _name_the_window(axes: Any, window: int, end: int) -> None:
    beside(
        axes,
        f"differs from window {window}",
        window,
        1.0,
        xycoords=axes.get_xaxis_transform(),
        va="top",
        ha="right" if window > end / 2 else "left",
        color=BAD,
    )


def _lanes(axes: Any, timeline: Timeline) -> None:
    names = [short(series.label, 16) for series in timeline.scales]
    for lane, (series, windows) in enumerate(zip(timeline.scales, timeline.skipped, strict=True)):
        color = look(series.place)["color"]
        axes.plot(windows, [lane] * len(windows), "|", color=color, markersize=9, markeredgewidth=2)
    if timeline.faults:
        lane = len(names)
        axes.plot(timeline.faults, [lane] * len(timeline.faults), "v", color=INK, markersize=6)
        names.append("injected")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("window (marks: skipped)")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.margins(x=0.01)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(side == "bottom")
