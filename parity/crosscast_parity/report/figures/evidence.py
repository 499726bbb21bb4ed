"""The figure of a bisection: the remaining gap after each trial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crosscast_parity.report.figures.style import (
    BAD,
    COLORS,
    INK,
    NOISE,
    Plot,
    beside,
    finish,
    new_figure,
    plain_numbers,
    short,
)

CAPTION = (
    "Each row is a trial, in the order of the search, in which only the named fields were "
    "changed. A red bar is the remaining gap: 1 for every failed check plus the number of "
    "powers of ten by which it exceeds its limit. The check that the search is about is "
    "given in parentheses. A green dot means that nothing remains to be explained; the one "
    "with the fewest fields names the cause."
)
SHOWN_TRIALS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One comparison: the fields that were changed, the gap that was left, the value of a check.

    `gap`: 0 if nothing was left, nan if it could not be tried.
    """

    fields: Sequence[str]
    gap: float
    level: str = ""
    value: float | None = None


def bisection_plot(trials: Sequence[Trial], *, key: str, title: str) -> Plot:
    """Draw one row per trial, from the first above to the last below."""
    shown = trials[-SHOWN_TRIALS:]
    with new_figure(key, 1.1 + 0.28 * len(shown), wide=True) as figure:
        axes = figure.add_subplot()
        known = [trial.gap for trial in shown if math.isfinite(trial.gap)]
        widest = max([*known, 1.0]) * 1.35
        axes.set_xlim(-0.01 * widest, widest)
        for y, trial in enumerate(shown):
            _trial(axes, trial, y, widest)
        axes.axvline(0, color=INK, linewidth=0.8)
        labels = [f"{len(trials) - len(shown) + n + 1}. {_fields(t)}" for n, t in enumerate(shown)]
        axes.set_yticks(range(len(shown)), labels)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("remaining gap")
        plain_numbers(axes.xaxis)
        return finish(figure, key=key, title=title, caption=CAPTION, wide=True)


def _trial(axes: Any, trial: Trial, y: int, widest: float) -> None:
    if math.isnan(trial.gap):
        axes.text(0.015 * widest, y, "could not be tried", va="center", color=NOISE)
        return
    if trial.gap <= 0:
        axes.plot([0], [y], "o", color=COLORS[2], markersize=8, clip_on=False)
        axes.text(0.015 * widest, y, f"fully explained{_value(trial)}", va="center")
        return
    end = trial.gap if math.isfinite(trial.gap) else widest
    axes.barh(y, end, height=0.55, color=BAD)
    words = f"{trial.gap:.3g}{_value(trial)}"
    left = end > 0.9 * widest
    side = "right" if left else "left"
    beside(axes, words, end, y, va="center", ha=side, color="#ffffff" if left else INK)


def _value(trial: Trial) -> str:
    if not trial.level or trial.value is None:
        return ""
    return f" ({trial.level} {trial.value:.2g})"


def _fields(trial: Trial) -> str:
    if not trial.fields:
        return "nothing changed"
    text = ", ".join(trial.fields)
    return short(text, 60) if len(trial.fields) < 5 else f"{len(trial.fields)} fields"
