"""Runs of custom models: their rows, the recipes that they train, and who takes part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from safetensors.numpy import load_file

from crosscast.data.npz import read_arrays
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import BertModel, Recipe
from crosscast_parity.compare.harness import compare
from crosscast_parity.inputs.custom import write_custom_inputs
from crosscast_parity.inputs.npz import save_npz
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import make_options
from crosscast_parity.planning.runs import Stage, plain_runs, twin_runs
from crosscast_parity.planning.stages import DEPTHS, custom_stages, seeds_of
from crosscast_parity.recipes.derived import changed, small_batches
from crosscast_parity.recipes.on_toy import active_on_toy, own_on_toy
from custom_fakes import BIAS, CUSTOM, KERNEL, START, own_recipe
from property_settings import examples
from recipe_strategies import recipes


def test_rows_are_the_users_and_end_with_a_short_window(tmp_path: Path) -> None:
    rows = {"x": np.arange(1000.0)[:, None], "y": np.arange(1000.0)}
    save_npz(tmp_path / "rows.npz", rows)
    recipe = small_batches(own_recipe())
    custom = replace(CUSTOM, folder=tmp_path)
    inputs = write_custom_inputs(recipe, tmp_path / "in", 2, 12, custom)
    train = read_arrays(inputs.train)
    window = recipe.batch.global_batch_size
    assert len(train["y"]) % window % recipe.batch.micro_batch_size
    assert 8 * window < len(train["y"]) < 9 * window
    assert train["y"][0] == rows["y"][0]
    assert train["y"][-1] == rows["y"][-1]
    assert inputs.count == KERNEL.size + BIAS.size
    paddle = inputs.of("paddle")
    for ours, theirs in ((inputs.weights, paddle.weights), (inputs.stress, paddle.stress)):
        np.testing.assert_array_equal(
            load_file(ours)["dense.weight"], load_file(theirs)["dense.weight"].T
        )
    assert (
        len({path.read_bytes() for path in (paddle.weights, *paddle.twins, *paddle.shifted)}) == 5
    )


@pytest.mark.parametrize("on_toy", [own_on_toy, active_on_toy])
def test_the_toy_is_trained_by_the_step_of_the_recipe(on_toy: Any) -> None:
    recipe = own_recipe(
        accumulation={"normalize_by": "microbatch"},
        loss_scaling={"mode": "dynamic"},
        precision={"mode": "mixed", "compute_dtype": "float16"},
        ema={"decay": 0.9},
    )
    found = on_toy(recipe, 256)
    assert isinstance(found.model, BertModel)
    assert found.optimizer.name == recipe.optimizer.name
    assert found.accumulation.normalize_by == "microbatch"
    assert found.scaling_on


def test_a_quick_check_is_small_and_one_of_the_model_is_not() -> None:
    recipe = own_recipe()
    quick, *toys = custom_stages(recipe, 10, "quick", None, 3)
    whole, *_ = custom_stages(recipe, 10, "model", None, 3)
    assert [stage.toy for stage in toys] == [True, True]
    assert quick.derive(recipe).batch.global_batch_size == 16
    assert quick.derive(recipe).optimizer.learning_rate == recipe.optimizer.learning_rate / 4
    assert quick.derive(recipe).schedule.total_steps == quick.windows
    assert whole.derive(recipe) == recipe
    assert whole.windows > quick.windows


def test_a_full_check_has_every_type_and_paired_seeds() -> None:
    recipe = own_recipe(seed=7)
    stages = {stage.name: stage for stage in custom_stages(recipe, 10, "full", None, 3)}
    kinds = ["model", "model-float16", "model-bfloat16"]
    seeds = seeds_of(recipe, "full")
    assert seeds == [7, 8, 9, 10, 11]
    assert list(stages) == [*kinds, *(f"seed-{seed}" for seed in seeds), "toy", "toy-active"]
    types = [stages[name].derive(recipe).precision.compute_dtype for name in kinds]
    assert types == ["float32", "float16", "bfloat16"]
    assert [stages[f"seed-{seed}"].derive(recipe).seed for seed in seeds] == seeds
    assert seeds_of(recipe, "quick") == seeds_of(recipe, "model") == []
    assert len(seeds_of(recipe, "nightly")) > len(seeds)


def test_every_seed_has_its_own_weights(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", x=np.zeros((300, 1)), y=np.zeros(300))
    other = {name: array + 2 for name, array in START.items()}
    custom = replace(CUSTOM, folder=tmp_path, starts={8: other})
    for seed, start in ((7, START), (8, other)):
        recipe = own_recipe(seed=seed)
        inputs = write_custom_inputs(recipe, tmp_path / str(seed), 0, 8, custom)
        found = load_file(inputs.weights)
        np.testing.assert_array_equal(found["dense.weight"], start["weight"])


def test_noise_is_measured_on_the_reference(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", x=np.zeros((300, 1)), y=np.zeros(300))
    recipe = own_recipe()
    stage: Stage = custom_stages(recipe, 10, "quick", None, 3)[0]
    inputs = write_custom_inputs(recipe, tmp_path, 3, 8, replace(CUSTOM, folder=tmp_path))
    torch = Contestant(name="torch", target="torch", recipe=recipe)
    twins = twin_runs(torch, recipe, stage, inputs)
    shifted = {spec.name: spec for spec in twins if spec.record}
    assert set(shifted) == {"twin-of-float32-initial", "twin-of-float32-stress"}
    plain = plain_runs(torch, recipe, stage, inputs, (), emulated=False)
    starts = [spec for spec in plain if spec.starts and not spec.repeat]
    for spec in starts:  # on the same rows, for as long
        other = shifted[f"twin-of-{spec.name}"]
        assert (other.trained, other.record, other.windows, other.variant) == (
            (spec.trained, spec.record, spec.windows, spec.variant)
        )
    assert all(spec.masks == recipe.seed for spec in plain)


def test_half_precision_is_repeated_in_float32_on_the_same_rows(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", x=np.zeros((300, 1)), y=np.zeros(300))
    recipe = own_recipe(precision={"mode": "mixed", "compute_dtype": "bfloat16"})
    stage = custom_stages(recipe, 10, "quick", None, 3)[0]
    inputs = write_custom_inputs(recipe, tmp_path, 3, 8, replace(CUSTOM, folder=tmp_path))
    torch = Contestant(name="torch", target="torch", recipe=recipe)
    twins = {spec.name: spec for spec in twin_runs(torch, recipe, stage, inputs)}
    plain = {
        spec.name: spec for spec in plain_runs(torch, recipe, stage, inputs, (), emulated=True)
    }
    half, exact = plain["half-stress"], plain["float32-stress"]
    assert {plain[name].evaluated for name in ("half-stress", "float32-stress", "gate")} == {
        inputs.held
    }
    rows = len(read_arrays(inputs.held)["y"])
    assert rows % recipe.batch.micro_batch_size
    assert plain["float32-initial"].evaluated == inputs.few
    assert (half.dtype, exact.dtype) == ("bfloat16", "float32")
    assert half.brief
    assert exact.brief
    assert (half.trained, half.weights) == (exact.trained, exact.weights)
    assert twins["twin-of-float32-initial"].trained == plain["float32-initial"].trained


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Contestant(name="b", target="tensorflow", recipe=own_recipe()), "is not compared"),
        (
            Contestant(name="b", target="torch", recipe=own_recipe(), adapter="keras"),
            "only scripts",
        ),
        (Contestant(name="b", target="torch@2.1", recipe=own_recipe()), "only scripts"),
        (
            Contestant(
                name="b", target="torch", recipe=own_recipe(loss={"kind": "mse", "target": "z"})
            ),
            "another model or loss",
        ),
        (
            Contestant(name="b", target="torch", recipe=own_recipe(), folder=Path("elsewhere")),
            "its recipe must be in",
        ),
    ],
    ids=["framework", "trainer", "dialect", "loss", "folder"],
)
def test_only_emitted_scripts_of_the_compared_models_take_part(
    other: Contestant, words: str, tmp_path: Path
) -> None:
    first = Contestant(name="torch", target="torch", recipe=own_recipe())
    with pytest.raises(DiagnosticError, match=words):
        compare(
            [first, other],
            options=make_options(tmp_path),
            compile_to=lambda *_: None,
            custom=CUSTOM,
        )


CUSTOM_SECTIONS = {
    "model": {"kind": "custom", "factory": {"torch": "own:build", "paddle": "own:build"}},
    "loss": {"kind": "mse", "target": "y"},
    "data": {"source": "npz", "train": "rows.npz", "eval": "rows.npz"},
}


@settings(max_examples=examples(25))
@given(recipes())
def test_every_recipe_of_a_custom_model_has_its_stages(drawn: Recipe) -> None:
    normalize = drawn.accumulation.normalize_by
    recipe = changed(
        drawn,
        {
            **CUSTOM_SECTIONS,
            "accumulation.normalize_by": "sample" if normalize == "token" else normalize,
        },
    )
    for depth in DEPTHS:
        for stage in custom_stages(recipe, 10, depth, None, 1):
            derived = stage.derive(recipe)
            assert derived.processes == 1
            assert derived.optimizer.name == recipe.optimizer.name
            assert isinstance(derived.model, BertModel) == stage.toy
