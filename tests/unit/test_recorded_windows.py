"""Which windows of a long run are recorded: the last one, those of events, and spread ones."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.recipe.document import Recipe
from crosscast_parity.inside.inject import LAST, Fault
from crosscast_parity.planning.recorded_windows import planned_course, recorded_windows
from crosscast_parity.recipes.stress import stress_recipe
from crosscast_parity.recipes.stress_scale import stress_faults
from observed_runs import Script
from parity_fakes import make_recipe
from parity_recipes import stress
from property_settings import examples

MOST = 8


@st.composite
def courses(draw: st.DrawFn) -> tuple[Recipe, int, tuple[Fault, ...]]:
    """A recipe, windows of a run, and planned overflows, some of which meet no micro-batch."""
    scaling: dict[str, Any] = {"mode": "none"}
    mode = draw(st.sampled_from(["none", "static", "dynamic", "dynamic"]))
    if mode == "static":
        scaling = {"mode": "static", "scale": 8.0}
    if mode == "dynamic":
        scaling = {
            "mode": "dynamic",
            "init_scale": 1024.0,
            "growth_interval": draw(st.integers(1, 12)),
            "hysteresis": draw(st.integers(1, 3)),
            "hysteresis_mode": draw(st.sampled_from(["consecutive", "cumulative"])),
        }
    warmup, windows = draw(st.integers(0, 30)), draw(st.integers(1, 70))
    schedule = {
        "warmup_steps": warmup,
        "total_steps": warmup + draw(st.integers(1, 60)),
        "tick": draw(st.sampled_from(["update", "attempt"])),
    }
    recipe = make_recipe(
        scaled=False,
        loss_scaling=scaling,
        schedule=schedule,
        data={"train_rows": draw(st.integers(16, 400))},
        accumulation={"tail": draw(st.sampled_from(["flush", "flush_renormalized", "drop"]))},
    )
    faulty = draw(st.lists(st.integers(0, windows), max_size=12, unique=True))
    places = st.sampled_from([0, 1, LAST])
    faults = tuple(Fault(window, draw(places), "inf") for window in sorted(faulty))
    return recipe, windows, faults if mode != "none" else ()


@settings(max_examples=examples(60))
@given(courses())
def test_the_course_is_that_of_the_reference(course: tuple[Recipe, int, tuple[Fault, ...]]) -> None:
    recipe, windows, faults = course
    rows, _ = Script(recipe).train(windows, faults)
    planned = planned_course(recipe, windows, faults)
    assert [(w.scale, w.skipped) for w in planned] == [(row.scale, row.skipped) for row in rows]


@settings(max_examples=examples(60))
@given(courses(), st.integers(0, 12))
def test_what_must_be_recorded_is(course: tuple[Recipe, int, tuple[Fault, ...]], most: int) -> None:
    recipe, windows, faults = course
    chosen = recorded_windows(recipe, windows, faults, most)
    assert list(chosen) == sorted(set(chosen))
    assert len(chosen) == min(most, windows)
    assert set(chosen) <= set(range(windows))
    if most:
        assert windows - 1 in chosen
    if most > 1:
        assert 0 in chosen
    if most < MOST:
        return
    rows, _ = Script(recipe).train(windows, faults)
    pairs = [(a.window, b.window) for a, b in pairwise(rows) if a.skipped and not b.skipped]
    assert set(chosen) >= set(pairs[-1] if pairs else ())
    growths = [b.window for a, b in pairwise(rows) if b.scale > a.scale]
    assert set(chosen) >= set(growths[:1])
    short = [row.window for row in rows if row.rows < 16]
    assert set(chosen) >= set(short[:1])
    second = -(-recipe.data.train_rows // 16)  # type: ignore[union-attr]
    if second < windows:
        assert second in chosen
    # One window is spread, so that no hole is half the run.
    assert max((b - a for a, b in pairwise(chosen)), default=0) <= windows // 2 + 1


def test_the_main_run_of_a_stress_recipe() -> None:
    recipe = stress_recipe(stress())[0]
    rows, _ = Script(recipe).train(64)
    chosen = recorded_windows(recipe, 64, (), MOST)
    assert len(chosen) == MOST
    assert {0, 3, 4, 63} <= set(chosen), "the first epoch has three windows and a short one"
    full = next(row.window for row in rows if row.lr == max(row.lr for row in rows))
    assert full in chosen, "the end of the warm-up"
    grown = [b.window for a, b in pairwise(rows) if b.scale > a.scale]
    assert {grown[0], grown[-1]} <= set(chosen)


def test_the_run_with_faults_of_a_stress_recipe() -> None:
    recipe = stress_recipe(stress())[0]
    faults = stress_faults(recipe, 64)
    windows = max(fault.window for fault in faults) + 7
    chosen = recorded_windows(recipe, windows, faults, MOST)
    last = max(fault.window for fault in faults)
    assert {0, last, last + 1, windows - 1} <= set(chosen)


def test_a_run_without_events_is_spread() -> None:
    schedule = {"warmup_steps": 0, "total_steps": 999}
    recipe = make_recipe(scaled=False, data={"train_rows": 9**6}, schedule=schedule)
    assert recorded_windows(recipe, 65, (), 5) == (0, 16, 32, 48, 64)
    assert recorded_windows(recipe, 3, (), 8) == (0, 1, 2)
    assert recorded_windows(recipe, 0, (), 8) == ()


def test_rows_in_a_file_have_no_known_epochs() -> None:
    document = make_recipe().model_dump()
    data = {"source": "npz", "train": "a.npz", "eval": "b.npz"}
    recipe = Recipe.model_validate(document | {"data": data})
    long = make_recipe(data={"train_rows": 10**6})
    assert recorded_windows(recipe, 20, (), 4) == recorded_windows(long, 20, (), 4)


def test_faults_that_meet_no_micro_batch_do_not_overflow() -> None:
    recipe = make_recipe()
    course = planned_course(recipe, 9, (Fault(2, 0, "inf"), Fault(6, 1, "inf")))
    # Window 6 is the short one, of a single micro-batch.
    assert [w for w, planned in enumerate(course) if planned.skipped] == [2]
    assert course[3].scale == course[2].scale / 2
