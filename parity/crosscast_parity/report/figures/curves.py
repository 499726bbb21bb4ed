"""Curves over the windows of a run: loss with its difference and limit, norm, learning rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crosscast_parity.report.figures.style import (
    INK,
    NOISE,
    Plot,
    Series,
    beside,
    draw,
    finish,
    legend_above,
    log_axis,
    new_figure,
    plain_numbers,
)

TRAJECTORY_CAPTION = (
    "Top: mean loss of each window; the curves should coincide. Bottom: distance from "
    "{reference}. It should stay below the dashed limit up to the horizon. Gray shows how "
    "much {reference} changes when its weights change by {moved:.0e} ({twins} runs). A curve that "
    "leaves the gray area early shows the window in which the programs diverge; 0 is drawn "
    "at the bottom."
)
BARE_CAPTION = (
    "Mean loss of each window. The curves should coincide; there is no measured noise to "
    "compare the distance with."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The loss of one run in all contestants.

    `distances`: |loss - loss of the reference| per contestant. `noise`: envelope per window.
    `limit`: largest distance that passes, per window. `horizon`: windows that are judged. `moved`:
    by what share the weights of the `twins` were moved.
    """

    reference: str = ""
    losses: Sequence[Series]
    distances: Sequence[Series] = ()
    noise: Sequence[float] = ()
    limit: Sequence[float] = ()
    horizon: int | None = None
    twins: int = 0
    moved: float = 0.0


def trajectory_plot(trajectory: Trajectory, *, key: str, title: str) -> Plot:
    """Draw loss above and distance from the reference below, on a log scale, with the limit."""
    judged = bool(trajectory.distances or trajectory.noise)
    with new_figure(key, 5.0 if judged else 2.9) as figure:
        rows = (1.0, 1.25) if judged else (1.0,)
        panels = figure.subplots(
            len(rows), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": rows}
        )[:, 0]
        for series in trajectory.losses:
            draw(panels[0], series, series.drawable())
        panels[0].set_ylabel("loss")
        plain_numbers(panels[0].yaxis)
        if judged:
            _distances(panels[1], trajectory)
            panels[0].margins(x=0.01)
        legend_above(*panels)
        _windows(panels[-1])
        caption = BARE_CAPTION
        if judged:
            caption = TRAJECTORY_CAPTION.format(
                moved=trajectory.moved, reference=trajectory.reference, twins=trajectory.twins
            )
        return finish(figure, key=key, title=title, caption=caption)


def _distances(axes: Any, trajectory: Trajectory) -> None:
    curves = [*(s.values for s in trajectory.distances), trajectory.noise, trajectory.limit]
    positive = [v for values in curves for v in values if v and math.isfinite(v) and v > 0]
    zero = min(positive, default=1e-9) / 3
    noise = Series(label="noise", values=trajectory.noise).drawable(log=True, zero=zero)
    windows = range(len(noise))
    axes.fill_between(windows, noise, zero, color=NOISE, alpha=0.25, linewidth=0, label="noise")
    limit = Series(label="limit", values=trajectory.limit).drawable(log=True)
    axes.plot(
        range(len(limit)), limit, color=INK, linestyle=(0, (4, 2)), linewidth=1.2, label="limit"
    )
    for series in trajectory.distances:
        draw(axes, series, series.drawable(log=True, zero=zero), in_legend=False)
    log_axis(axes, [*positive, zero])
    plain_numbers(axes.yaxis)
    axes.set_ylabel("distance from reference")
    _horizon(axes, trajectory)


def _horizon(axes: Any, trajectory: Trajectory) -> None:
    """Mark the windows after the horizon, in which nothing is judged."""
    end = max((len(series.values) for series in trajectory.losses), default=0)
    if trajectory.horizon is None or trajectory.horizon >= end:
        return
    axes.axvspan(trajectory.horizon, end - 1, color=NOISE, alpha=0.12, linewidth=0)
    axes.axvline(trajectory.horizon, color=INK, linewidth=0.8, alpha=0.6)
    side = "right" if trajectory.horizon > 0.85 * end else "left"
    where = axes.get_xaxis_transform()
    beside(axes, "horizon", trajectory.horizon, 0.02, xycoords=where, va="bottom", ha=side)


def curve_plot(
    curves: Sequence[Series], *, key: str, title: str, caption: str, label: str, log: bool = False
) -> Plot:
    """Draw one panel of curves over the windows."""
    with new_figure(key, 2.9) as figure:
        axes = figure.add_subplot()
        for series in curves:
            draw(axes, series, series.drawable(log=log))
        if log:
            log_axis(axes, [v for s in curves for v in s.drawable(log=True)])
        plain_numbers(axes.yaxis)
        axes.set_ylabel(label)
        _windows(axes)
        legend_above(axes)
        return finish(figure, key=key, title=title, caption=caption)


def _windows(axes: Any) -> None:
    axes.set_xlabel("window")
    axes.margins(x=0.01)
    axes.xaxis.get_major_locator().set_params(integer=True)
