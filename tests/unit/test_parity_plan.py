"""Which runs a comparison makes, and from which recipes."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.diagnostics import Severity
from crosscast.recipe import rules
from crosscast.recipe.document import Recipe, SyntheticData
from crosscast.targets.backend import harness_of
from crosscast_parity.inputs.shared import Inputs
from crosscast_parity.inside.inject import Fault, parse_fault
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.overflows import choose_faults
from crosscast_parity.planning.pace import LAYERS, cost
from crosscast_parity.planning.recorded_windows import planned_course, resume_window
from crosscast_parity.planning.runs import (
    LONG,
    RECORDED_LATE,
    RunSpec,
    in_sessions,
    is_judged_first,
    plain_runs,
    twin_runs,
)
from crosscast_parity.planning.stages import DEPTHS, make_stages, own_stage
from crosscast_parity.recipes.derived import (
    at_stress_scale,
    bert_of,
    comparable,
    in_float32,
    is_small,
    shortened,
    tiny,
    weights_of,
    with_dtype,
    with_seed,
    without_dropout,
)
from crosscast_parity.recipes.window_rows import brief_rows
from crosscast_parity.scaling_law.shapes import windows_of
from parity_fakes import make_recipe

HALF = {"mode": "mixed", "compute_dtype": "float16"}
LARGE = {"layers": 4, "hidden_size": 256, "attention_heads": 4, "intermediate_size": 1024}
INPUTS = Inputs(
    train=Path("train"),
    brief=Path("brief"),
    eval=Path("eval"),
    few=Path("few"),
    held=Path("held"),
    weights=Path("bert"),
    stress=Path("stress"),
    twins=(Path("twin-1"), Path("twin-2")),
)


def half_recipe(**changes: Any) -> Recipe:
    return make_recipe(precision=HALF, **changes)


def program(recipe: Recipe, **more: object) -> Contestant:
    return Contestant(name="torch", target="torch", recipe=recipe, **more)  # type: ignore[arg-type]


def run_names(recipe: Recipe, *, own: bool = False, emulated: bool = True) -> list[str]:
    (stage,) = make_stages(recipe, "model", windows=None, twins=2)
    script = Path("train.py") if own else None
    if own:
        stage = own_stage(recipe, None, 2)
    specs = plain_runs(program(recipe, script=script), recipe, stage, INPUTS, (), emulated=emulated)
    assert all(spec.autocast != spec.name.startswith("exact") for spec in specs)
    return [f"{spec.name} {spec.variant} {spec.weights}" for spec in specs]


def valid(recipe: Recipe) -> bool:
    return not [d for d in rules.check(recipe) if d.severity is Severity.ERROR]


def test_the_tiny_recipe_keeps_what_is_trained_how() -> None:
    recipe = half_recipe(
        model=LARGE | {"layer_norm_eps": 1e-5},
        clipping={"kind": "global_norm", "max_norm": 0.5},
        batch={"micro_batch_size": 16, "global_batch_size": 128},
        accumulation={"steps": 8},
    )
    small = tiny(recipe)
    assert not is_small(recipe)
    assert is_small(small)
    assert valid(small)
    for section in ("optimizer", "schedule", "clipping", "precision", "loss_scaling"):
        assert getattr(small, section) == getattr(recipe, section)
    assert small.model.layer_norm_eps == 1e-5  # type: ignore[union-attr]
    assert small.batch.global_batch_size == small.batch.micro_batch_size * small.accumulation.steps


def test_the_tiny_recipe_has_a_short_last_window_with_a_short_micro_batch() -> None:
    small = tiny(make_recipe())
    assert isinstance(small.data, SyntheticData)
    left = small.data.train_rows % small.batch.global_batch_size
    assert 0 < left < small.batch.global_batch_size
    assert left % small.batch.micro_batch_size


def test_a_schedule_is_squeezed_and_keeps_its_warm_up() -> None:
    recipe = make_recipe(schedule={"total_steps": 6400, "warmup_steps": 640})
    short = shortened(recipe, 64)
    assert (short.schedule.total_steps, short.schedule.warmup_steps) == (64, 6)
    assert shortened(recipe, 6400) is recipe
    few = shortened(make_recipe(schedule={"total_steps": 10**6, "warmup_steps": 10}), 64)
    assert few.schedule.warmup_steps == 1


@pytest.mark.parametrize("mode", ["mixed", "full"])
def test_variants_are_valid_recipes(mode: str) -> None:
    recipe = make_recipe(precision=HALF | {"mode": mode})
    exact = in_float32(recipe)
    assert (exact.precision.compute_dtype, exact.loss_scaling.mode) == ("float32", "none")
    calm = at_stress_scale(recipe)
    assert calm.loss_scaling.init_scale == 64.0  # type: ignore[union-attr]
    assert with_dtype(recipe, "bfloat16").loss_scaling.mode == "none"
    assert with_dtype(make_recipe(scaled=False), "float16").loss_scaling.mode == "dynamic"
    assert with_dtype(recipe, "float16") == recipe
    every = (exact, calm, with_dtype(recipe, "bfloat16"), with_seed(recipe, 9))
    assert all(valid(recipe) for recipe in every)


def test_the_scale_of_stress_weights_respects_its_bounds() -> None:
    scaling = {"min_scale": 128.0, "init_scale": 4096.0, "max_scale": 8192.0}
    calm = at_stress_scale(half_recipe(loss_scaling=scaling))
    assert valid(calm)
    assert calm.loss_scaling.init_scale == 64.0  # type: ignore[union-attr]


def test_what_one_process_cannot_compare_is_left_out_in_words() -> None:
    two = {"strategy": "data_parallel", "processes_per_node": 2}
    recipe = make_recipe(
        model={"dropout": 0.1},
        distributed=two,
        batch={"micro_batch_size": 8, "global_batch_size": 32},
    )
    found, words = comparable(recipe)
    assert (found.processes, found.batch.global_batch_size) == (1, 16)
    assert len(words) == 1
    assert comparable(make_recipe()) == (make_recipe(), ())
    assert bert_of(found).dropout == 0.1
    dry, words = without_dropout(found)
    assert words == ("model.dropout: 0.1 was set to 0 (masks differ)",)
    assert bert_of(dry).dropout == 0.0
    assert without_dropout(dry) == (dry, ())


def test_runs_of_a_half_recipe() -> None:
    assert run_names(half_recipe()) == [
        "float32-initial float32 bert",
        "float32-stress float32 stress",
        "half-stress stress stress",
        "gate stress stress",
        "evaluation dropout stress",
        "main main bert",
    ]


def test_runs_of_a_float32_recipe() -> None:
    assert run_names(make_recipe()) == [
        "float32-initial main bert",
        "float32-stress main stress",
        "gate main stress",
        "evaluation dropout stress",
        "main main bert",
    ]


def specs_of(contestant: Contestant, recipe: Recipe) -> dict[str, RunSpec]:
    (stage,) = make_stages(recipe, "model", windows=None, twins=2)
    fault = parse_fault("2:0=inf")
    return {
        s.name: s for s in plain_runs(contestant, recipe, stage, INPUTS, (fault,), emulated=True)
    }


def test_the_repeated_run_is_a_resumed_one_whose_checkpoints_are_kept() -> None:
    for recipe, repeated in ((half_recipe(), "half-stress"), (make_recipe(), "float32-stress")):
        specs = specs_of(program(recipe), recipe)
        assert (specs["gate"].resume, specs["gate"].windows) == (3, 4)
        read = {name for name, spec in specs.items() if spec.trained == Path("brief")}
        assert read == {"gate", repeated}
        kept = {name for name, spec in specs.items() if spec.checkpoint}
        assert kept == {"gate", repeated, "faults"}
        assert specs["gate"].record == (3,), "the window after the resume"
        assert not specs["gate"].starts


def test_the_run_with_overflows_is_resumed_where_its_state_is_not_the_first() -> None:
    """Where updates are not windows, at another scale, with a count of overflows above 0."""
    for scaling in ({}, {"hysteresis": 2}, {"hysteresis": 3}, {"hysteresis": 4}):
        for mode in ("consecutive", "cumulative"):
            recipe = half_recipe(loss_scaling=scaling | {"hysteresis_mode": mode})
            (stage,) = make_stages(recipe, "model", windows=None, twins=2)
            faults = choose_faults(recipe, None)
            runs = plain_runs(program(recipe), recipe, stage, INPUTS, faults, emulated=True)
            spec = next(run for run in runs if run.name == "faults")
            now = planned_course(recipe, spec.windows, faults)[spec.resume]
            assert now.updates < spec.resume
            assert now.scale != recipe.loss_scaling.init_scale  # type: ignore[union-attr]
            assert now.bad > 0 or not scaling
            assert now.good == 0, "an overflow in a row can be counted here"
            assert {spec.resume - 1, spec.resume} <= set(spec.record)
            assert spec.resume < spec.windows - 1
    static = make_recipe(scaled=False, loss_scaling={"mode": "static", "scale": 8.0})
    faults = (Fault(2, 0, "inf"), Fault(3, 0, "inf"))
    assert resume_window(static, 12, faults) == 3, "one overflow before, and one after"
    assert resume_window(static, 12, ()) == 0


@pytest.mark.parametrize("tail", ["flush", "flush_renormalized", "drop", "carry"])
@pytest.mark.parametrize("window", [1, 2, 3, 16])
def test_a_run_is_resumed_within_a_later_epoch(tail: str, window: int) -> None:
    recipe = make_recipe(
        batch={"micro_batch_size": 1, "global_batch_size": window},
        accumulation={"steps": window, "tail": tail},
    )
    n_rows = brief_rows(recipe)
    ((read, *_),) = next(islice(windows_of(recipe, n_rows), 3, None))
    epoch, first = divmod(int(read[0]), n_rows)
    assert epoch >= 1
    assert first > 0


def test_a_large_model_is_resumed_within_the_rows_it_has() -> None:
    recipe = half_recipe(model=LARGE | {"vocab_size": 8000})
    specs = specs_of(program(recipe), recipe)
    assert specs["gate"].resume == 1
    assert {spec.trained for spec in specs.values()} == {Path("train")}


def test_the_last_window_of_a_long_run_is_recorded() -> None:
    for recipe in (half_recipe(), make_recipe()):
        specs = specs_of(program(recipe), recipe)
        for name in LONG:
            assert specs[name].record[-1] == specs[name].windows - 1
            assert len(specs[name].record) == RECORDED_LATE
            assert not specs[name].starts
            assert not is_judged_first(specs[name])
        assert all(s.record == (0, 1, 2, 3) for s in specs.values() if s.starts)
    big = specs_of(program(half_recipe()), half_recipe(model=LARGE | {"vocab_size": 8000}))
    assert big["main"].record == (big["main"].windows - 1,)
    assert (big["faults"].record, big["half-stress"].record) == ((), (0, 1))


def test_of_paired_seeds_nothing_is_recorded() -> None:
    stages = make_stages(make_recipe(), "full", windows=None, twins=0)
    (last,) = plain_runs(
        program(make_recipe()), make_recipe(), stages[-1], INPUTS, (), emulated=True
    )
    assert (last.name, last.record) == ("main", ())


def test_only_a_script_that_was_compiled_here_is_resumed() -> None:
    recipe = make_recipe()
    for other in (program(recipe, script=Path("train.py")), program(recipe, adapter="keras")):
        specs = specs_of(other, recipe)
        assert specs["gate"].resume == 0
        assert not any(spec.checkpoint for spec in specs.values())
        assert "evaluation" not in specs


def test_rows_of_an_evaluation_that_counts_end_in_a_short_batch() -> None:
    recipe = half_recipe(model={"dropout": 0.1})
    specs = specs_of(program(recipe), recipe)
    assert specs["evaluation"].evaluated == Path("held")
    assert specs["evaluation"].recipe.model.dropout == 0.5  # type: ignore[union-attr]
    assert specs["main"].evaluated == Path("eval")
    assert specs["gate"].evaluated == Path("few")


def test_a_script_of_ones_own_runs_as_it_is() -> None:
    names = [
        "half-initial main bert",
        "half-stress main stress",
        "gate main stress",
        "main main bert",
    ]
    assert run_names(half_recipe(), own=True, emulated=False) == names
    # Its float32 variant cannot be compiled, but its autocast can be switched off.
    names[2:2] = ["exact-initial main bert", "exact-stress main stress"]
    assert run_names(half_recipe(), own=True) == names
    assert not any("exact" in name for name in run_names(make_recipe(), own=True))


def test_the_twins_of_a_half_reference_include_float32() -> None:
    for recipe, names in (
        (half_recipe(), ["twin-1", "twin-2", "twin-float32"]),
        (make_recipe(), ["twin-1", "twin-2"]),
    ):
        (stage,) = make_stages(recipe, "model", windows=None, twins=2)
        specs = twin_runs(program(recipe), recipe, stage, INPUTS)
        assert [spec.name for spec in specs] == names


def test_stages_of_a_check() -> None:
    small, large = half_recipe(), half_recipe(model=LARGE)

    def names(recipe: Recipe, depth: str) -> list[str]:
        stages = make_stages(recipe, depth, windows=None, twins=3)  # type: ignore[arg-type]
        return [stage.name for stage in stages]

    assert names(small, "quick") == ["tiny"]
    assert names(large, "quick") == ["tiny", "model"]
    assert names(large, "model") == ["model"]
    full = names(large, "full")
    assert full[:3] == ["tiny", "tiny-float32", "tiny-bfloat16"]
    assert "tiny-3-bfloat16" in full
    assert full[-6:] == ["model", *(f"seed-{n}" for n in range(5))]
    assert "model" not in names(small, "full")
    assert len(names(large, "nightly")) > len(full)
    for depth in DEPTHS:
        for stage in make_stages(large, depth, windows=None, twins=3):
            assert valid(stage.derive(large)), stage.name


def test_a_model_that_is_small_is_compared_as_it_is() -> None:
    recipe = make_recipe()
    (stage,) = make_stages(recipe, "quick", windows=64, twins=3)
    assert stage.derive(recipe) == recipe
    assert weights_of(recipe) < 3000


def test_runs_are_dealt_to_processes_evenly_and_in_order() -> None:
    recipe = half_recipe()
    (stage,) = make_stages(recipe, "model", windows=None, twins=2)
    specs = plain_runs(program(recipe), recipe, stage, INPUTS, (), emulated=True)
    dealt = in_sessions(specs, [1, 1, 1, 1, 1, 5], 2)
    assert sorted(len(part) for part in dealt) == [1, 5]
    assert [spec.name for part in dealt for spec in part if len(part) == 5] == [
        spec.name for spec in specs[:5]
    ]
    assert in_sessions([], [], 2) == []
    assert in_sessions(specs, [1] * 6, 1) == [specs]


def test_the_cost_of_a_run_follows_its_framework_and_its_work() -> None:
    recipe = half_recipe()
    (stage,) = make_stages(recipe, "model", windows=60, twins=1)
    specs = {
        s.name: s for s in plain_runs(program(recipe), recipe, stage, INPUTS, (), emulated=True)
    }
    (twin, _) = twin_runs(program(recipe), recipe, stage, INPUTS)[:2]
    main, start, weights = replace(specs["main"], record=()), specs["float32-initial"], 14_000_000
    seconds = {name: cost(main, weights, name) for name in ("torch", "tensorflow", "paddle", "jax")}
    assert seconds["torch"] == seconds["jax"] < seconds["paddle"]
    harness = harness_of("paddle")
    assert harness is not None
    slow = harness.pace
    share = recipe.model.layers / LAYERS  # type: ignore[union-attr]
    trained = (seconds["paddle"] - slow.start * share) / (seconds["torch"] - 0.5 * share)
    assert trained == pytest.approx(slow.factor)
    assert cost(twin, weights, "torch") < seconds["torch"]  # it evaluates a few rows
    for spec in (start, specs["main"]):
        assert cost(spec, weights, "torch") > cost(replace(spec, record=()), weights, "torch")
    assert cost(replace(main, windows=120), weights, "torch") > 1.9 * cost(twin, weights, "torch")
    resumed = replace(start, resume=2)
    again = cost(resumed, weights, "paddle") - cost(start, weights, "paddle")
    assert again == pytest.approx(slow.start * share)
    steps = replace(main, windows=256, toy=True)
    assert cost(steps, weights, "torch") < 0.1 * seconds["torch"]
    assert cost(steps, weights, "torch") < cost(steps, weights, "paddle")
