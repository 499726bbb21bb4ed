"""The scaling law: where the tool says that it holds, the reference interpreter obeys it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import Recipe
from crosscast.reference.interpreter import DataRow, MicroBatch, run
from crosscast_parity.recipes.derived import changed
from crosscast_parity.scaling_law.exemptions import exceptions_of, possible_exceptions
from crosscast_parity.scaling_law.recipes import Subject, make_subject
from crosscast_parity.scaling_law.scenes import Scene, faults_of, scenes_of
from crosscast_parity.scaling_law.shapes import Shape, WindowPlaces, shapes_of, windows_of
from parity_recipes import plain

SIZES = {"dense.weight": (2, 3), "dense.bias": (2,), "norm.weight": (3,)}
ROLES = {"dense.bias": frozenset({"bias"}), "norm.weight": frozenset({"layer_norm"})}
WINDOWS = 6


class Rows:
    """Losses, gradients and labels of single rows: a micro-batch is what its rows make together."""

    def __init__(self, seed: int, unit: str, overflowing: frozenset[int] = frozenset()) -> None:
        self.seed, self.unit, self.overflowing = seed, unit, overflowing

    def micro_batch(self, places: Sequence[int]) -> MicroBatch:
        losses, gradients, tokens = zip(*map(self._row, places), strict=True)
        by = len(places) if self.unit == "microbatch" else 1
        summed = {n: np.sum([gradient[n] for gradient in gradients], axis=0) / by for n in SIZES}
        return MicroBatch(sum(losses) / by, summed, len(places), sum(tokens))

    def _row(self, place: int) -> tuple[float, dict[str, np.ndarray], int]:
        rng = np.random.default_rng([self.seed, place])
        tokens = int(rng.integers(0, 3)) if self.unit == "token" else 1
        gradients = {n: rng.standard_normal(shape) * tokens for n, shape in SIZES.items()}
        if place in self.overflowing:
            gradients["dense.bias"][0] = np.inf
        return float(rng.standard_normal() * tokens), gradients, tokens

    def feed(self, window: WindowPlaces) -> list[list[MicroBatch]]:
        return [[self.micro_batch(micro.tolist()) for micro in rank] for rank in window]


def trained(recipe: Recipe, shape: Shape, train_rows: int, rows: Rows) -> list[DataRow]:
    """Train a shape of a recipe with the reference interpreter."""
    shaped = shape.applied(recipe)
    rng = np.random.default_rng(0)
    weights = {name: rng.standard_normal(size) for name, size in SIZES.items()}
    feed = [rows.feed(window) for window in islice(windows_of(shaped, train_rows), WINDOWS)]
    return list(run(canonical_plan(shaped), weights, feed, ROLES, "float64").rows)


def same(first: Sequence[DataRow], other: Sequence[DataRow]) -> bool:
    """Whether two runs made the same windows, but for rounding in float64."""
    if len(first) != len(other):
        return False
    return all(
        (a.rows, a.tokens, a.skipped, a.updates, a.scale, a.lr)
        == (b.rows, b.tokens, b.skipped, b.updates, b.scale, b.lr)
        and np.allclose([a.loss, a.grad_norm], [b.loss, b.grad_norm], 1e-7, equal_nan=True)
        and all(np.allclose(a.parameters[n], b.parameters[n], 1e-7, 1e-9) for n in SIZES)
        and all(np.allclose(a.ema[n], b.ema[n], 1e-7, 1e-9) for n in a.ema)
        for a, b in zip(first, other, strict=True)
    )


OPTIMIZERS = (
    {"name": "sgd", "learning_rate": 0.1, "momentum": 0.9},
    {"name": "adamw", "learning_rate": 0.01, "weight_decay": 0.1, "eps": 1e-3},
    {"name": "lamb", "learning_rate": 0.01, "eps": 1e-3},
    {"name": "adafactor", "learning_rate": 0.01},
)
CLIPPINGS = (
    {"kind": "none"},
    {"kind": "global_norm", "max_norm": 0.5},
    {"kind": "per_param_norm", "max_norm": 0.3},
    {"kind": "value", "max_value": 0.2},
)


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    unit = draw(st.sampled_from(("sample", "microbatch", "token")))
    tails = ("flush_renormalized", "drop", "carry", *(("flush",) if unit != "token" else ()))
    return plain(
        precision={"mode": "none", "compute_dtype": "float32"},
        loss_scaling={"mode": "none"},
        accumulation__normalize_by=unit,
        accumulation__tail=draw(st.sampled_from(tails)),
        optimizer=draw(st.sampled_from(OPTIMIZERS)),
        clipping=draw(st.sampled_from(CLIPPINGS)),
        ema__decay=draw(st.sampled_from((None, 0.9))),
        schedule__warmup_steps=1,
    )


@given(
    recipes(),
    st.integers(2, 3),
    st.integers(1, 3),
    st.sampled_from((1, 2, 3, 4)),
    st.integers(1, 80),
    st.integers(0, 20),
)
def test_the_law_holds_exactly_where_no_exemption_is_named(
    recipe: Recipe, processes: int, steps: int, micro: int, train_rows: int, seed: int
) -> None:
    shapes = shapes_of(processes, steps, micro)
    assume(train_rows >= shapes[0].rows // 2)
    rows = Rows(seed, recipe.accumulation.normalize_by)
    runs = [trained(recipe, shape, train_rows, rows) for shape in shapes]
    named = {
        exception.shape: exception
        for exception in exceptions_of(recipe, shapes, train_rows, WINDOWS)
    }
    for shape, found in zip(shapes[1:], runs[1:], strict=True):
        assert same(runs[0], found) == (shape not in named), (shape, named.get(shape))
        if shape in named:  # not a window before the one that is named
            assert same(runs[0][: named[shape].window], found[: named[shape].window])


def overflowing(subject: Subject, scene: Scene, shape: Shape) -> frozenset[int]:
    """Return the places of a row in every micro-batch that a scene poisons in a shape."""
    recipe = shape.applied(subject.recipe)
    windows = list(islice(windows_of(recipe, subject.train_rows), subject.windows))
    return frozenset(
        int(windows[fault.window][process][fault.micro][0])
        for process, faults in faults_of(scene, subject, shape).items()
        for fault in faults
    )


@pytest.mark.parametrize("hysteresis", [1, 2, 3])
@pytest.mark.parametrize("processes", [2, 3])
def test_an_overflow_in_one_process_is_one_of_all(hysteresis: int, processes: int) -> None:
    recipe = plain(loss_scaling__hysteresis=hysteresis, clipping__max_norm=0.1)
    subject = make_subject(recipe, processes=processes, windows=12, stress=False, keep_model=False)
    scene = scenes_of(subject)[1]
    runs = []
    for shape in subject.shapes:
        rows = Rows(3, "sample", overflowing(subject, scene, shape))
        runs.append(trained(subject.recipe, shape, subject.train_rows, rows))
    for found in runs:
        skipped = [row.window for row in found if row.skipped]
        assert skipped == sorted(w for w in scene.windows if w < WINDOWS)
        assert [row.scale for row in found] == [row.scale for row in runs[0]]
    assert runs[0][-1].scale < runs[0][0].scale


# shapes and windows


def test_the_shapes_of_a_window() -> None:
    assert [shape.name for shape in shapes_of(2, 2, 4)] == ["1x1x16", "1x4x4", "2x1x8", "2x2x4"]
    assert [shape.name for shape in shapes_of(2, 1, 4)] == ["1x1x8", "1x2x4", "2x1x4", "2x2x2"]
    assert [shape.name for shape in shapes_of(3, 1, 1)] == ["1x1x3", "1x3x1", "3x1x1"]


@given(
    st.sampled_from(("flush", "flush_renormalized", "drop", "carry")),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 40),
)
def test_windows_are_dealt_in_whole(
    tail: str, processes: int, steps: int, micro: int, train_rows: int
) -> None:
    shape = Shape(processes, steps, micro)
    recipe = shape.applied(plain(accumulation__tail=tail))
    windows = list(islice(windows_of(recipe, train_rows), 5))
    least = processes if tail.startswith("flush") else shape.rows
    assert len(windows) == (5 if tail == "carry" or train_rows >= least else 0)
    for window in windows:
        dealt = sorted(row for rank in window for micro in rank for row in micro.tolist())
        assert all(b == a + 1 for a, b in pairwise(dealt))
        assert all(0 < len(micro) <= shape.micro for rank in window for micro in rank)
        assert len(window) == processes
        assert all(1 <= len(rank) <= steps for rank in window)
        assert len(dealt) == shape.rows or (tail.startswith("flush") and processes <= len(dealt))
    if windows:
        assert windows[0][0][0][0] == 0


# exemptions that a user reads


@pytest.mark.parametrize(
    ("accumulation", "kinds"),
    [
        ({"normalize_by": "sample", "tail": "flush_renormalized"}, {"left out"}),
        ({"normalize_by": "sample", "tail": "flush"}, {"left out"}),
        ({"normalize_by": "token", "tail": "flush_renormalized"}, {"left out"}),
        ({"normalize_by": "sample", "tail": "drop"}, set()),
        ({"normalize_by": "microbatch", "tail": "drop"}, set()),
        ({"normalize_by": "microbatch", "tail": "carry"}, set()),
        ({"normalize_by": "microbatch", "tail": "flush"}, {"left out", "means of means"}),
        (
            {"normalize_by": "microbatch", "tail": "flush_renormalized"},
            {"left out", "means of means"},
        ),
    ],
)
def test_what_can_be_different_by_design(accumulation: dict[str, str], kinds: set[str]) -> None:
    recipe = plain(**{f"accumulation__{key}": value for key, value in accumulation.items()})
    found = possible_exceptions(recipe, shapes_of(2, 2, 4))
    assert {exemption.kind for exemption in found} == kinds
    subject = make_subject(recipe, processes=None, windows=12, stress=False, keep_model=False)
    assert exceptions_of(subject.recipe, subject.shapes, subject.train_rows, 12) == ()
    short = subject.train_rows % subject.shapes[0].rows
    assert bool(short) == ("means of means" not in kinds)


# what is run


def words(subject: Subject) -> str:
    return " | ".join(subject.changes)


def test_what_is_run_keeps_how_the_recipe_trains() -> None:
    recipe = plain(model__dropout=0.1, ema__decay=0.9, clipping={"kind": "value", "max_value": 1.0})
    subject = make_subject(recipe, processes=None, windows=12, stress=False, keep_model=False)
    kept = ("optimizer", "precision", "clipping", "accumulation.tail", "ema", "overrides")
    data, own = subject.recipe.model_dump(), recipe.model_dump()
    for path in kept:
        section, _, name = path.partition(".")
        mine, theirs = data[section], own[section]
        assert (mine[name], path) == (theirs[name], path) if name else mine == theirs
    text = words(subject)
    for part in (
        "model.dropout: 0.1",
        "BERT tiny",
        "16 rows per window instead of 32",
        "init_scale",
    ):
        assert part in text
    assert {shape.rows for shape in subject.shapes} == {16}
    assert subject.recipe.processes == 1


def test_as_many_processes_as_asked_for_or_as_the_recipe_has() -> None:
    def count(recipe: Recipe, processes: int | None = None) -> int:
        subject = make_subject(
            recipe, processes=processes, windows=8, stress=False, keep_model=False
        )
        return max(shape.processes for shape in subject.shapes)

    many: dict[str, Any] = {"distributed.strategy": "data_parallel"}
    three = changed(
        plain(), many | {"distributed.processes_per_node": 3, "batch.global_batch_size": 96}
    )
    lots = changed(
        plain(), many | {"distributed.processes_per_node": 64, "batch.global_batch_size": 2048}
    )
    assert [count(plain()), count(three), count(lots), count(plain(), 3)] == [2, 3, 4, 3]


def test_without_a_loss_scale_the_first_overflow_is_the_last() -> None:
    recipe = plain(
        precision={"mode": "none", "compute_dtype": "float32"}, loss_scaling={"mode": "none"}
    )
    subject = make_subject(recipe, processes=None, windows=8, stress=False, keep_model=False)
    assert [len(scene.overflows) for scene in scenes_of(subject)] == [0, 1]


def test_overflows_lie_in_one_process_each() -> None:
    subject = make_subject(plain(), processes=2, windows=12, stress=False, keep_model=False)
    plain_scene, scene = scenes_of(subject)
    assert not any(faults_of(plain_scene, subject, shape) for shape in subject.shapes)
    for shape in subject.shapes:
        found = faults_of(scene, subject, shape)
        places = [(p, f.window) for p, faults in found.items() for f in faults]
        assert sorted(window for _, window in places) == sorted(scene.windows)
        assert {p for p, _ in places} == ({0} if shape.processes == 1 else {0, 1})
