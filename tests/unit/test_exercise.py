"""Which fields a run exercised: computed from its records, by what other values would show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from crosscast.recipe.document import Recipe
from crosscast.variations.changes import value_at
from crosscast.variations.table import Variation, shown
from crosscast_parity.evidence import replay
from crosscast_parity.evidence.recorded_run import Judges, RecordedRun, judges_of
from crosscast_parity.exercise import fields
from crosscast_parity.exercise.fields import Exercise, exercise
from crosscast_parity.exercise.meaning import meaning
from crosscast_parity.inside.inject import Fault
from crosscast_parity.levels.replay import UPDATE_LIMIT
from crosscast_parity.levels.updates import measure_updates
from crosscast_parity.recipes.derived import changed, tiny
from crosscast_parity.recipes.stress import stress_recipe
from crosscast_parity.recipes.stress_scale import stress_faults
from observed_runs import recorded_runs, sight
from parity_recipes import plain, stress

ALWAYS = {
    *("model.attention", "model.init_std", "data.source", "data.sequence_length", "data.eval_rows"),
    "data.workers",
    *("precision.ops.embeddings", "loss.target"),
    "clipping.eps",  # of its two sides, 0 in place of 1e-6 shows in no float32
}
"""What no run exercises; the reasons stand in the table of rules."""


def by_path(recipe: Recipe, seen: Sequence[RecordedRun]) -> dict[str, Exercise]:
    return {exercise.path: exercise for exercise in exercise(recipe, seen)}


@cache
def stressed() -> dict[str, Exercise]:
    return by_path(stress(), stressed_runs()[0])


@cache
def usual() -> dict[str, Exercise]:
    """The tiny version of a usual recipe, as it is: nothing in it is short."""
    recipe = changed(tiny(plain()), {"schedule.total_steps": 64, "schedule.warmup_steps": 6})
    return by_path(recipe, recorded_runs(recipe, (Fault(2, 0, "inf"),)))


def test_the_stress_recipe_leaves_nothing_unexercised() -> None:
    assert {path for path, field in stressed().items() if field.status == "not exercised"} == ALWAYS


@pytest.mark.parametrize(
    ("path", "level"),
    [
        ("optimizer.eps", "L1b"),
        ("optimizer.no_decay", "L1b"),
        ("optimizer.betas.1", "L1b"),
        ("clipping.max_norm", "L1b"),
        ("loss_scaling.growth_interval", "L0b"),
        ("loss_scaling.min_scale", "L0b"),
        ("schedule.tick", "L0b"),
        ("schedule.warmup_steps", "L0b"),
        ("accumulation.normalize_by", "L0c"),
        ("accumulation.steps", "L0b"),
        ("accumulation.dtype", "L1b"),
        ("precision.compute_dtype", "L0d"),
        ("precision.ops.reductions", "L0d"),
        ("model.layer_norm_eps", "L1a"),
        ("model.hidden_size", "gate"),
        ("seed", "L1a"),
    ],
)
def test_the_level_that_would_see_it_is_named(path: str, level: str) -> None:
    check = stressed()[path]
    assert check.status == "exercised"
    assert check.level == level
    assert level in check.wording


def test_the_figure_is_that_of_the_check_that_would_have_failed() -> None:
    field = stressed()["optimizer.eps"]
    assert field.run == "float32-initial"
    assert field.value is not None
    assert field.limit == UPDATE_LIMIT
    assert field.value > field.limit
    assert "1e-06 instead would be off by" in field.wording


SIDES = ("loss_scaling.min_scale", "loss_scaling.growth_interval", "clipping.max_norm")


@pytest.mark.parametrize("path", SIDES)
@pytest.mark.parametrize("side", ["below", "above"])
def test_a_number_is_exercised_only_if_both_sides_of_it_would_be_seen(
    path: str, side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seen(number: int, variation: Variation, board: Any) -> Exercise | None:
        value = value_at(board.runs[number].recipe.model_dump(), variation.path)
        blind = (variation.value < value) == (side == "below")
        return None if variation.path == path and blind else original(number, variation, board)

    original = fields._exercise_of
    monkeypatch.setattr(fields, "_exercise_of", seen)
    found = fields._exercise_field(stress(), path, fields._Board(*stressed_runs()))
    assert found.status == "not exercised"
    assert "all checks pass with" in found.wording


ALTERNATIVES = (
    ("optimizer.name", "lion"),
    ("optimizer.no_decay", ()),
    ("optimizer.no_decay", ("layer_norm",)),
    ("clipping.kind", "none"),
    ("clipping.kind", "per_param_norm"),
    ("schedule.name", "cosine"),
    ("schedule.name", "constant"),
    ("loss_scaling.mode", "static"),
    ("accumulation.tail", "flush"),
    ("accumulation.tail", "carry"),
    ("precision.compute_dtype", "bfloat16"),
    ("precision.mode", "full"),
)


def unseen(path: str, value: object, monkeypatch: pytest.MonkeyPatch) -> Exercise:
    """What is said of a field if no check saw one of its values."""

    def seen(number: int, variation: Variation, board: Any) -> Exercise | None:
        blind = (variation.path, variation.value) == (path, value)
        return None if blind else original(number, variation, board)

    original = fields._exercise_of
    monkeypatch.setattr(fields, "_exercise_of", seen)
    return fields._exercise_field(stress(), path, fields._Board(*stressed_runs()))


@cache
def stressed_runs() -> tuple[tuple[RecordedRun, ...], tuple[Judges, ...]]:
    recipe = stress()
    runs = tuple(recorded_runs(recipe, stress_faults(recipe, 64)))
    return runs, tuple(map(judges_of, runs))


@cache
def calm_runs() -> tuple[RecordedRun, ...]:
    """Runs without an overflow."""
    return tuple(recorded_runs(stress(), ()))


@pytest.mark.parametrize(("path", "value"), ALTERNATIVES)
def test_a_choice_is_exercised_only_if_every_other_one_would_be_seen(
    path: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = unseen(path, value, monkeypatch)
    assert found.status == "not exercised"
    assert found.wording.endswith(f"all checks pass with {shown(value)}, too")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("schedule.name", "polynomial"),  # of the power 1
        ("accumulation.normalize_by", "token"),  # of one label a row
    ],
)
def test_a_choice_that_means_the_same_need_not_be_seen(
    path: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert unseen(path, value, monkeypatch).status == "exercised"


def test_recipes_mean_the_same_that_train_alike() -> None:
    free = stress(optimizer__weight_decay=0.0)
    # Each window is one micro-batch. Of a mean, its rows do not matter.
    alone = {"accumulation__steps": 1, "batch__global_batch_size": 4}
    means = stress(**alone, accumulation__normalize_by="microbatch")
    same: tuple[tuple[Recipe, dict[str, Any]], ...] = (
        (free, {"optimizer.name": "adam"}),
        (free, {"optimizer.no_decay": ()}),
        (stress(), {"schedule.name": "polynomial"}),
        (means, {"accumulation.tail": "flush"}),
        (stress(), {"optimizer.groups": ({"parameters": ("nothing",), "rate_factor": 2.0},)}),
    )
    for recipe, changes in same:
        assert meaning(recipe) == meaning(changed(recipe, changes)), changes
    others: tuple[tuple[Recipe, dict[str, Any]], ...] = (
        (stress(), {"optimizer.name": "adam"}),
        (stress(), {"optimizer.no_decay": ()}),
        (stress(), {"schedule.name": "polynomial", "schedule.power": 2.0}),
        (stress(), {"accumulation.tail": "drop"}),
        (means, {"accumulation.tail": "drop"}),
        (stress(**alone), {"accumulation.tail": "flush"}),
        (stress(accumulation__normalize_by="microbatch"), {"accumulation.tail": "flush"}),
        (stress(), {"optimizer.groups": ({"parameters": ("*",), "rate_factor": 2.0},)}),
    )
    for recipe, changes in others:
        assert meaning(recipe) != meaning(changed(recipe, changes)), changes


@pytest.mark.parametrize("bias_correction", [True, False])
def test_lamb_without_decay_is_adam_unless_it_always_adapts(bias_correction: bool) -> None:
    shared = {"learning_rate": 1e-3, "weight_decay": 0.0, "eps": 1e-8}
    shared["bias_correction"] = bias_correction

    def of(name: str, **more: Any) -> tuple[object, ...]:
        return meaning(plain(optimizer={"name": name, **shared, **more}))

    assert of("lamb", always_adapt=False) == of("adam") == of("adamw")
    assert of("lamb", always_adapt=True) != of("adamw")
    assert of("lamb", always_adapt=False, weight_decay=0.1) != of("adamw", weight_decay=0.1)
    decays = ({"parameters": ("*.weight",), "weight_decay": 0.1},)
    assert of("lamb", always_adapt=False, groups=decays) != of("adamw", groups=decays)


@pytest.mark.parametrize(
    ("path", "because"),
    [
        ("loss_scaling.growth_factor", "the scale did not grow"),
        ("loss_scaling.growth_interval", "there were never that many clean windows in a row"),
        ("loss_scaling.min_scale", "the scale did not fall that low"),
    ],
)
def test_a_usual_recipe_does_not_exercise_everything(path: str, because: str) -> None:
    field = usual()[path]
    assert field.status == "not exercised"
    assert field.wording.startswith(f"because {because}; all checks pass with ")


def test_without_a_skip_the_tick_is_not_exercised() -> None:
    recipe = stress()
    seen = [replace(r, observation=None) for r in calm_runs() if r.run == "main"]
    found = by_path(recipe, seen)
    assert found["schedule.tick"].wording.startswith("because no window was skipped")
    assert found["loss_scaling.backoff_factor"].status == "not exercised"
    # Nothing was recorded, so nothing about the optimizer was seen, but for its rate.
    assert found["optimizer.eps"].status == "not exercised"
    assert found["optimizer.learning_rate"].status == "exercised"
    assert found["model.layer_norm_eps"].wording.startswith("because gradients were not compared")


def test_a_long_run_shows_updates_but_neither_types_nor_gradients() -> None:
    recipe = stress()
    seen = [run for run in calm_runs() if run.run == "main"]
    found = by_path(recipe, seen)
    assert found["optimizer.eps"].status == "exercised"
    assert found["optimizer.eps"].wording.startswith("L1b update of main")
    assert found["precision.ops.matmul"].status == "not exercised"
    exact = changed(recipe, {"precision": {"mode": "none"}, "loss_scaling": {"mode": "none"}})
    seen = [run for run in recorded_runs(exact, ()) if run.run == "main"]
    eps = by_path(exact, seen)["model.layer_norm_eps"]
    assert eps.wording.startswith("because gradients were not compared")


def test_a_clipping_that_never_clips_is_not_exercised() -> None:
    recipe = stress(clipping__max_norm=1.0)
    recipe = changed(recipe, {"clipping.max_norm": 1e6})
    found = by_path(recipe, recorded_runs(recipe, ()))
    assert found["clipping.max_norm"].status == "not exercised"
    assert found["clipping.kind"].status == "not exercised"


def test_updates_are_measured_once_for_recipes_that_say_the_same_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe = changed(stress(), {"schedule.warmup_steps": 8})
    seen = sight(recipe, "float32-initial", 4, record=range(4))
    assert seen.observation is not None
    measured: list[object] = []

    def measure(*arguments: Any) -> Any:
        measured.append(arguments)
        return measure_updates(*arguments)

    monkeypatch.setattr(replay, "measure_updates", measure)
    replayed = replay.Replayed(recipe, seen.observation)
    own = replayed.update(recipe)
    first = len(measured)
    assert replayed.update(changed(recipe, {"schedule.name": "constant"})) == own
    assert len(measured) == first  # the run ends with the warm-up
    for path, value in (("schedule.warmup_steps", 4), ("optimizer.eps", 1e-3)):
        assert replayed.update(changed(recipe, {path: value})) != own
    assert len(measured) == first + 2


def test_without_a_short_window_tail_and_normalization_are_not_exercised() -> None:
    recipe = changed(stress(), {"data.train_rows": 64})
    found = by_path(recipe, recorded_runs(recipe, ()))
    assert found["accumulation.tail"].status == "not exercised"
    assert found["accumulation.normalize_by"].status == "not exercised"


def test_features_that_are_not_there_are_not_used() -> None:
    found = stressed()
    for path in ("ema.decay", "optimizer.groups", "loss_scaling.max_scale", "schedule.power"):
        assert found[path].status == "not used"
    exact = changed(
        plain(),
        {
            "precision": {"mode": "none", "compute_dtype": "float32"},
            "loss_scaling": {"mode": "none"},
        },
    )
    recipe, _ = stress_recipe(exact)
    found = by_path(recipe, recorded_runs(recipe, ()))
    assert found["schedule.tick"].status == "not used"
    assert found["precision.ops.losses"].status == "not used"
    assert found["loss_scaling.mode"].status == "exercised"  # a scale would be seen


def test_a_run_of_a_derived_recipe_speaks_only_for_what_it_shares() -> None:
    recipe = stress()
    exact = [run for run in calm_runs() if run.run == "float32-initial"]
    found = by_path(recipe, exact)
    assert found["precision.compute_dtype"].status == "not exercised"
    assert found["loss_scaling.init_scale"].status == "not exercised"
    assert found["optimizer.eps"].status == "exercised"


def test_a_check_that_fails_anyway_exercises_nothing() -> None:
    recipe = stress()
    wrong = changed(recipe, {"optimizer.eps": 1e-6})
    seen = sight(wrong, "main", 4, claimed=recipe, record=range(4))
    found = by_path(recipe, [replace(seen, compared=False)])
    assert found["optimizer.eps"].status == "not exercised"


def test_the_average_is_exercised() -> None:
    recipe = stress(ema__decay=0.999)
    check = by_path(recipe, recorded_runs(recipe, ()))["ema.decay"]
    assert (check.status, check.level) == ("exercised", "L1b")
