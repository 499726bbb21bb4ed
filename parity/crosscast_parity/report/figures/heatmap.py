"""The heat map of gradient errors by tensor and contestant."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.colors import LinearSegmentedColormap, LogNorm

from crosscast_parity.report.figures.style import BAD, INK, Plot, finish, new_figure, short

CAPTION = (
    "Relative error of each parameter's gradient in the first window, compared with "
    "{reference}. Pale cells are rounding noise, blue cells approach the limit of the "
    "column, red cells with a frame exceed it. A bug in one layer appears as red cells from "
    "that layer towards the embeddings, in the direction of the gradient; a bug in one kind "
    "of operation appears as stripes."
)
MOST_ROWS = 64
CELL = 0.2
LONGEST_NAME = 46
LOWEST = 1e-4
"""Errors below this share of the limit look the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One contestant in one run. `errors`: parameter to relative error. `limit`: what passes."""

    contestant: str
    run: str
    errors: Mapping[str, float]
    limit: float | None = None


def heatmap_plot(columns: Sequence[Column], *, key: str, title: str, reference: str) -> Plot:
    """Draw tensors (rows, in the order of the model) by columns, coloured by error over limit."""
    names, merged = _rows(columns)
    table = [[_worst(column.errors, names[row]) for column in columns] for row in merged]
    height = 1.35 + CELL * len(merged)
    with new_figure(key, height, wide=True) as figure:
        axes = figure.add_subplot()
        shares = [
            [_share(value, column.limit) for value, column in zip(row, columns, strict=True)]
            for row in table
        ]
        mesh = axes.pcolormesh(shares, cmap=_colors(), norm=LogNorm(LOWEST, 1.0))
        for x in range(1, len(columns)):
            axes.axvline(x, color=INK, linewidth=0.8, alpha=0.35)
        _cells(axes, table, shares)
        axes.invert_yaxis()
        axes.set_yticks([y + 0.5 for y in range(len(merged))], [_label(row) for row in merged])
        axes.set_xticks([x + 0.5 for x in range(len(columns))], [_head(c) for c in columns])
        axes.xaxis.tick_top()
        axes.tick_params(length=0, labelsize=8)
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        bar = figure.colorbar(mesh, ax=axes, extend="both", pad=0.015, fraction=0.03, aspect=30)
        bar.set_label("error / limit")
        bar.set_ticks([1e-4, 1e-3, 1e-2, 1e-1, 1.0], labels=["1e-4", "1e-3", "0.01", "0.1", "1"])
        bar.outline.set_visible(False)
        if bar.solids is not None:
            bar.solids.set_rasterized(False)  # the page loads no images
            bar.solids.set_edgecolor("face")
        caption = CAPTION.format(reference=reference)
        if len(merged) < len({name for column in columns for name in column.errors}):
            caption += " Each row is the worst tensor of a module."
        return finish(figure, key=key, title=title, caption=caption, wide=True)


def _rows(columns: Sequence[Column]) -> tuple[dict[str, list[str]], list[str]]:
    """Return row to its tensors, and the rows; modules instead of tensors if there are many."""
    names = list(dict.fromkeys(name for column in columns for name in column.errors))
    rows = {name: [name] for name in names}
    if len(rows) > MOST_ROWS:
        rows = {}
        for name in names:
            rows.setdefault(name.rpartition(".")[0] or name, []).append(name)
    shown = list(rows)
    if len(shown) > MOST_ROWS:
        worst = {row: max(_over(column, rows[row]) for column in columns) for row in shown}
        kept = set(sorted(shown, key=lambda row: -worst[row])[:MOST_ROWS])
        shown = [row for row in shown if row in kept]
    return rows, shown


def _over(column: Column, names: Sequence[str]) -> float:
    share = _share(_worst(column.errors, names), column.limit)
    return 0.0 if math.isnan(share) else share


def _worst(errors: Mapping[str, float], names: Sequence[str]) -> float:
    """Return the largest error of the tensors, nan if none of them was compared."""
    compared = [
        math.inf if math.isnan(errors[name]) else errors[name] for name in names if name in errors
    ]
    return max(compared, default=math.nan)


def _share(value: float, limit: float | None) -> float:
    """Return error / limit, within what the colours can show and just above it."""
    if math.isnan(value):
        return math.nan
    share = value / limit if limit else value
    return min(max(share, LOWEST / 2), 10.0)


def _colors() -> Any:
    stops = [(0.0, "#f1f5f9"), (0.5, "#d6e4f0"), (0.75, "#9cc1e0"), (1.0, "#2e6da4")]
    colors = LinearSegmentedColormap.from_list("share", stops, N=96)
    return colors.with_extremes(over=BAD, under="#f7f9fb", bad=(0, 0, 0, 0))


def _cells(axes: Any, table: Sequence[Sequence[float]], shares: Sequence[Sequence[float]]) -> None:
    """Write the errors into their cells and frame those over the limit."""
    for y, (values, row) in enumerate(zip(table, shares, strict=True)):
        for x, (value, share) in enumerate(zip(values, row, strict=True)):
            if math.isnan(value):
                _write(axes, x, y, "-")
                continue
            over = share > 1
            _write(
                axes,
                x,
                y,
                _number(value),
                fontweight="bold" if over else "normal",
                color="#ffffff" if share > 0.3 else "#1d2126",
            )
            if over:
                frame = ([x, x + 1, x + 1, x, x], [y, y, y + 1, y + 1, y])
                axes.plot(*frame, color=INK, linewidth=1.4, clip_on=False)


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "not finite"
    return f"{value:.1e}" if value else "0"


def _write(axes: Any, x: int, y: int, text: str, **style: Any) -> None:
    middle = {"ha": "center", "va": "center", "fontsize": 7.5}
    label = axes.text(x + 0.5, y + 0.5, text, **middle, **style)
    label.set_in_layout(False)  # hundreds, all within the axes


def _label(name: str) -> str:
    for prefix in ("bert.encoder.", "bert."):
        name = name.removeprefix(prefix)
    if len(name) > LONGEST_NAME:
        name = f"…{name[-LONGEST_NAME + 1 :]}"
    return short(name, LONGEST_NAME)


def _head(column: Column) -> str:
    limit = f"\nlimit {column.limit:.0e}" if column.limit else ""
    return f"{short(column.contestant, 20)}\n{short(column.run, 20)}{limit}"
