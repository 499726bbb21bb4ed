"""The figures from numbers alone: what is grouped, cut, clipped or left out."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import pytest

from crosscast_parity.report.figures.curves import Trajectory, curve_plot, trajectory_plot
from crosscast_parity.report.figures.evidence import Trial, bisection_plot
from crosscast_parity.report.figures.heatmap import Column, heatmap_plot
from crosscast_parity.report.figures.seeds import SeedLine, SeedPanel, seeds_plot
from crosscast_parity.report.figures.style import LONGEST_LABEL, Plot, Series, short
from crosscast_parity.report.figures.timeline import Timeline, timeline_plot
from tiers import cases


def texts(plot: Plot) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", plot.svg)


def heat(columns: Sequence[Column]) -> Plot:
    return heatmap_plot(columns, key="k", title="t", reference="torch")


def column(**errors: float) -> Column:
    return Column(contestant="paddle", run="main", errors=errors, limit=1e-3)


def test_the_heat_map_writes_errors_and_marks_those_over_the_limit() -> None:
    plot = heat([column(a=1e-6, b=2e-3, c=math.nan), column(a=math.inf)])
    found = texts(plot)
    assert {"a", "b", "c", "1.0e-06", "2.0e-03", "not finite", "-"} <= set(found)
    assert found.count("not finite") == 2
    assert found.count("-") == 2  # tensors that the second program does not have
    bold = re.findall(r"font-weight: 700[^>]*>([^<]*)<", plot.svg)
    assert sorted(bold) == ["2.0e-03", "not finite", "not finite"]


def test_many_tensors_are_grouped_by_module_and_the_worst_kept() -> None:
    few = {f"layer.{n}.dense.{leaf}": 1e-6 * n for n in range(40) for leaf in ("weight", "bias")}
    plot = heat([column(**few)])
    assert "layer.7.dense" in texts(plot)
    assert "worst tensor of a module" in plot.caption
    many = {f"layer.{n}.dense.weight": 1e-6 * (n + 1) for n in range(200)}
    rows = [text for text in texts(heat([column(**many)])) if text.startswith("layer.")]
    assert len(rows) == 64
    assert rows[0] == "layer.136.dense"


def test_a_heat_map_without_a_limit_is_drawn() -> None:
    plot = heat([Column(contestant="a", run="b", errors={"x": 0.0})])
    assert "0" in texts(plot)


def test_labels_are_cut_and_never_hidden() -> None:
    assert short("a" * 99) == "a" * (LONGEST_LABEL - 1) + "…"
    assert short(" x \n y ") == "x y"
    assert short("") == "?"
    curve = Series(label="_hidden", values=[1.0, 2.0, 3.0])
    plot = curve_plot([curve], key="k", title="t", caption="c", label="l")
    assert any("hidden" in text for text in texts(plot))


@pytest.mark.parametrize(
    "value",
    cases([0.0, None, math.inf, math.nan, -1.0], quick=[0.0, None, math.inf], reason="more values"),
)
def test_curves_of_nothing_to_draw(value: float | None) -> None:
    for log in (False, True):
        curve = Series(label="a", values=[value, value, value])
        curve_plot([curve], key="k", title="t", caption="c", label="l", log=log)
    timeline = Timeline(scales=[curve], skipped=[[0]], faults=(0,), parted=0)
    timeline_plot(timeline, key="k", title="t")


def test_the_distance_of_equal_programs_is_drawn_at_the_bottom() -> None:
    same = Series(label="b", values=[0.0, 0.0, 0.0], place=1)
    trajectory = Trajectory(
        reference="a",
        losses=[Series(label="a", values=[1.0, 1.0, 1.0])],
        distances=[same],
        noise=[0.0, 0.0, 0.0],
        limit=[1e-4, 1e-4],
        horizon=2,
        twins=3,
    )
    plot = trajectory_plot(trajectory, key="k", title="t")
    assert {"noise", "limit", "horizon"} <= set(texts(plot))
    assert same.drawable(log=True, zero=1e-9) == [1e-9] * 3
    assert "how much a changes" in plot.caption


def test_a_timeline_is_worth_showing_if_anything_happens() -> None:
    flat = Series(label="a", values=[1.0, 1.0])
    assert not Timeline(scales=[flat], skipped=[[]]).worth_showing
    assert Timeline(scales=[flat], skipped=[[1]]).worth_showing
    assert Timeline(scales=[flat], skipped=[[]], faults=(1,)).worth_showing
    moved = Series(label="a", values=[1.0, 2.0])
    assert Timeline(scales=[moved], skipped=[[]]).worth_showing


def test_seeds_without_an_interval_are_dots_alone() -> None:
    line = SeedLine(
        contestant="paddle",
        place=1,
        differences=[0.1, math.nan],
        mean=0.1,
        low=-math.inf,
        high=math.inf,
        judgement="inconclusive",
    )
    panel = SeedPanel(metric="eval loss", margin=0.02, lines=[line])
    plot = seeds_plot([panel], key="k", title="t", reference="torch")
    assert "eval loss (margin ±0.02)" in texts(plot)
    assert "inconclusive" in texts(plot)


def test_a_bisection_says_what_each_trial_left() -> None:
    trials = [
        Trial(fields=(), gap=4.25, level="L1b update", value=0.65),
        Trial(fields=("a", "b", "c", "d", "e"), gap=math.inf),
        Trial(fields=("optimizer.eps",), gap=0.0),
        Trial(fields=("seed",), gap=math.nan),
    ]
    found = texts(bisection_plot(trials, key="k", title="t"))
    for words in (
        "1. nothing changed",
        "4.25 (L1b update 0.65)",
        "2. 5 fields",
        "3. optimizer.eps",
        "fully explained",
        "could not be tried",
    ):
        assert words in found
    many = [Trial(fields=(f"f{n}",), gap=1.0) for n in range(50)]
    found = texts(bisection_plot(many, key="k", title="t"))
    assert "50. f49" in found
    assert "20. f19" not in found


def test_two_figures_of_a_page_share_no_id() -> None:
    curve = Series(label="a", values=[1.0, 2.0, 3.0])
    plots = [curve_plot([curve], key=k, title="t", caption="c", label="l") for k in ("a", 'b"<')]
    ids = [set(re.findall(r' id="([^"]*)"', plot.svg)) for plot in plots]
    assert ids[0]
    assert not ids[0] & ids[1]
    for plot, own in zip(plots, ids, strict=True):
        assert set(re.findall(r'(?:url\(#|href="#)([^")]*)', plot.svg)) <= own
