"""Common style of all figures, and rendering to SVG and PNG."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

COLORS = ("#2e7ebb", "#d9822b", "#1b9e77", "#a66bbe", "#8c8527", "#d06a9b")
"""Told apart with any colour vision, on white and on black; dashes and widths say it again."""
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 1.5, 1.5, 1.5)), "-", "--")
WIDTHS = (3.6, 2.2, 1.6, 1.2, 1.2, 1.2)
"""Equal curves lie on each other: the first is the widest, so that all of them are seen."""
NOISE = "#8a8f98"
BAD = "#c8402f"
INK = "#010203"
"""Stands for the text colour of the page, which depends on light or dark."""
HALF_WIDTH, FULL_WIDTH = 6.4, 13.0
"""Inches of a figure that takes half of the page, or all of it."""
PNG_DPI = 150
LONGEST_LABEL = 28
LEGEND_WIDTH = 80
"""Letters that fit above a figure of half the page."""

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # names of contestants are text
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
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
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.constrained_layout.h_pad": 0.03,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One finished figure.

    `key` names its PNG file. `caption` says what to look for. `wide`: it takes the whole page.
    """

    key: str
    title: str
    caption: str
    svg: str
    wide: bool = False
    figure: Figure = field(compare=False, repr=False)

    def png(self) -> bytes:
        """Draw it once more, as an image in the colours of paper."""
        image = io.BytesIO()
        with rc_context(_STYLE):
            self.figure.savefig(
                image, format="png", dpi=PNG_DPI, facecolor="white", metadata={"Software": None}
            )
        return image.getvalue()


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One curve over the windows. `place` is the contestant's place, which decides the look."""

    label: str
    values: Sequence[float | None]
    place: int = 0

    def drawable(self, *, log: bool = False, zero: float = math.nan) -> list[float]:
        """Return the values, nan where they cannot be drawn; `zero` replaces 0 if `log`."""
        return [_drawable(value, log=log, zero=zero) for value in self.values]


def _drawable(value: float | None, *, log: bool, zero: float) -> float:
    if value is None or not math.isfinite(value):
        return math.nan
    return zero if log and value <= 0 else value


@contextmanager
def new_figure(key: str, height: float, *, wide: bool = False) -> Iterator[Figure]:
    """Yield an empty figure in the style of the page."""
    # A fixed salt makes the same ids every time.
    with rc_context(_STYLE | {"svg.hashsalt": "crosscast"}):
        width = FULL_WIDTH if wide else HALF_WIDTH
        yield Figure(figsize=(width, height), layout="constrained")


def finish(figure: Figure, *, key: str, title: str, caption: str, wide: bool = False) -> Plot:
    """Return the figure as SVG text for the page, without a date."""
    text = io.StringIO()
    figure.savefig(
        text,
        format="svg",
        transparent=True,
        metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
    )
    figure.set_layout_engine("none")  # it is laid out: a second time would cost as much
    return Plot(
        key=key,
        title=title,
        caption=caption,
        svg=_inline(text.getvalue(), key, title),
        wide=wide,
        figure=figure,
    )


def look(place: int, *, steps: bool = False) -> dict[str, Any]:
    """Return how the curve of the contestant at `place` is drawn, the same in all figures."""
    return {
        "color": COLORS[place % len(COLORS)],
        "linestyle": DASHES[place % len(DASHES)],
        "linewidth": WIDTHS[min(place, len(WIDTHS) - 1)],
        "alpha": 0.65 if place == 0 else 1.0,
        "drawstyle": "steps-post" if steps else "default",
    }


def draw(
    axes: Any,
    series: Series,
    values: Sequence[float],
    *,
    steps: bool = False,
    in_legend: bool = True,
) -> None:
    """Draw one curve; a very short one as points."""
    alone = {"marker": "o", "markersize": 4} if len(values) < 3 else {}
    style = look(series.place, steps=steps)
    label = short(series.label) if in_legend else None
    axes.plot(range(len(values)), values, label=label, **style, **alone)


def log_axis(axes: Any, values: Sequence[float], *, base: int = 10) -> None:
    """Make the y axis logarithmic if there is something to show on it."""
    positive = [value for value in values if value > 0 and math.isfinite(value)]
    if positive:
        axes.set_yscale("log", base=base)
        if base == 10 and max(positive) < 100 * min(positive):
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_formatter(NullFormatter())


def plain_numbers(*axis: Any) -> None:
    """Label the axes as plain text: with math text off, the default would show its markup."""
    for direction in axis:
        direction.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))


def legend_above(axes: Any, *others: Any) -> None:
    """Put one legend of these axes above the first, where no curve runs."""
    legends = [other.get_legend_handles_labels() for other in (axes, *others)]
    handles = [handle for part, _ in legends for handle in part]
    labels = [label for _, part in legends for label in part]
    longest = max(map(len, labels), default=0)
    columns = max(1, min(len(labels), LEGEND_WIDTH // (longest + 6)))
    if labels:
        axes.legend(
            handles,
            labels,
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=columns,
            borderaxespad=0.2,
            handlelength=2.6,
            columnspacing=1.4,
        )


def beside(axes: Any, text: str, x: float, y: float, **style: Any) -> None:
    """Write beside a point, a little apart; `ha="right"` is the left side of it.

    Spaces would not do: SVG drops those at the ends of a text.
    """
    apart = -4 if style.get("ha") == "right" else 4
    axes.annotate(text, (x, y), xytext=(apart, 0), textcoords="offset points", **style)


def short(label: str, longest: int = LONGEST_LABEL) -> str:
    """Return a label that fits; a leading underscore would hide it from the legend."""
    text = " ".join(label.split()) or "?"
    text = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return f"\u200b{text}" if text.startswith("_") else text


def _inline(svg: str, key: str, title: str) -> str:
    """Return the svg element alone, in the colours and the typeface of the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<(metadata|style)\b.*?</\1>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    own = re.sub(r"[^A-Za-z0-9_-]", "_", key)  # all figures share one page, and so their ids
    svg = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{own}-", svg)
    svg = re.sub(r'(<svg[^<>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^<>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r"font-family: [^;\"]*;? ?", "", svg)
    label = title.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
    return svg.replace(INK, "currentColor")
