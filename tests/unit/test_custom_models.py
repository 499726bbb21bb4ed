"""Runs of custom models: their weights, what was observed of them, and the recipes they train."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from crosscast.data.npz import read_arrays
from crosscast.messages.diagnostics import Collector, DiagnosticError
from crosscast.recipe.derive import derive
from crosscast.recipe.document import BertModel, Recipe
from crosscast.weights.document import Entry, Place, WeightsMap
from crosscast.weights.layout import SAME, Layout
from crosscast_parity.compare.harness import compare
from crosscast_parity.inputs.custom import CustomModels, Trained, write_custom_inputs
from crosscast_parity.inputs.npz import save_npz
from crosscast_parity.levels.dtypes import check_dtypes
from crosscast_parity.levels.files import check_files
from crosscast_parity.levels.model import compare_models
from crosscast_parity.levels.replay import replay_run
from crosscast_parity.levels.statistics import check_statistics
from crosscast_parity.modules.training import custom_models
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import make_options
from crosscast_parity.planning.runs import Stage, plain_runs, twin_runs
from crosscast_parity.planning.stages import custom_stages
from crosscast_parity.recipes.derived import small_batches
from crosscast_parity.recipes.on_toy import active_on_toy, own_on_toy
from crosscast_parity.recordings.observations import Observation, ObservedWindow
from crosscast_parity.recordings.trace import Row
from crosscast_parity.recordings.type_manifest import Manifest, Operation
from crosscast_parity.weights.model import Model, Part

RNG = np.random.default_rng(4)
TURNED = Layout(axes=(1, 0))
KERNEL = RNG.normal(size=(3, 2)).astype(np.float32)
BIAS = RNG.normal(size=3).astype(np.float32)


def own_recipe(**sections: Any) -> Recipe:
    document = {
        "version": 1,
        "name": "own",
        "model": {"kind": "custom", "factory": {"torch": "own:build", "paddle": "own:build"}},
        "data": {"source": "npz", "train": "rows.npz", "eval": "rows.npz"},
        "loss": {"kind": "mse", "target": "y"},
        "batch": {"micro_batch_size": 8, "global_batch_size": 64},
        "optimizer": {"name": "sgd", "learning_rate": 0.1},
        "schedule": {"name": "linear", "total_steps": 100, "warmup_steps": 50},
        **sections,
    }
    return Recipe.model_validate(derive(document, Collector()))


def entry(name: str, shape: tuple[int, ...], **places: Place) -> Entry:
    return Entry(name=name, shape=shape, places=places)


KNOWN = WeightsMap(
    frameworks=("torch", "paddle"),
    entries=(
        entry(
            "weight",
            (3, 2),
            torch=Place(name="dense.weight", layout=SAME),
            paddle=Place(name="dense.weight", layout=TURNED),
        ),
        entry(
            "bias_ih",
            (3,),
            torch=Place(name="dense.bias", layout=SAME),
            paddle=Place(name="dense.bias", layout=Layout(term=(0, 2))),
        ),
        entry(
            "bias_hh",
            (3,),
            torch=Place(name="dense.other", layout=SAME, frozen=True),
            paddle=Place(name="dense.bias", layout=Layout(term=(1, 2))),
        ),
    ),
)
START = {"weight": KERNEL, "bias_ih": BIAS, "bias_hh": 2 * BIAS}
TORCH = Trained(
    arrays={
        "dense.weight": 0 * KERNEL,
        "dense.bias": 0 * BIAS,
        "dense.other": 0 * BIAS,
        "steps": np.array(5, np.int64),
    },
    roles={"dense.weight": frozenset(), "dense.bias": frozenset({"bias"})},
    counters=frozenset({"steps"}),
)
PADDLE = Trained(
    arrays={"dense.weight": 0 * KERNEL.T, "dense.bias": 0 * BIAS},
    roles={"dense.weight": frozenset(), "dense.bias": frozenset({"bias"})},
    counters=frozenset(),
)
CUSTOM = CustomModels(
    known=KNOWN,
    models={"torch": TORCH, "paddle": PADDLE},
    start=START,
    drawn={name: array + 1 for name, array in START.items()},
    statistics=frozenset(),
    folder=Path(),
)


def row(**fields: Any) -> Row:
    known = {"window": 0, "n_micro": 1, "rows": 8, "loss": 1.0, "lr": 0.1, "grad_norm": 1.0}
    return Row(**{**known, "scale": 1.0, "skipped": False, "updates": 1, **fields})


def observed(
    before: dict[str, np.ndarray], total: dict[str, np.ndarray], **fields: Any
) -> Observation:
    known: dict[str, Any] = {
        "window": 0,
        "micro_rows": (8,),
        "losses": (1.0,),
        "factors": (1.0,),
        "gradient_dtypes": {},
        "row": row(),
        "before": before,
        "after": before,
        "total": total,
        "first": {},
        "applied": total,
    }
    return Observation(windows=(ObservedWindow(**{**known, **fields}),))


TORCH_SEEN = observed(CUSTOM.of("torch", START), {"dense.weight": KERNEL, "dense.bias": BIAS})
PADDLE_SEEN = observed(CUSTOM.of("paddle", START), {"dense.weight": KERNEL.T, "dense.bias": BIAS})


def test_every_framework_starts_from_the_same_weights_in_its_own_layout() -> None:
    torch, paddle = (CUSTOM.of(name, START) for name in ("torch", "paddle"))
    np.testing.assert_array_equal(torch["dense.weight"], KERNEL)
    np.testing.assert_array_equal(paddle["dense.weight"], KERNEL.T)
    np.testing.assert_allclose(paddle["dense.bias"], 3 * BIAS, rtol=1e-6)
    assert torch["steps"].dtype == np.int64
    assert torch["steps"].shape == ()


def test_only_what_is_trained_is_replayed_and_has_roles() -> None:
    (window,) = CUSTOM.trained(TORCH_SEEN, "torch").windows
    assert set(window.before) == {"dense.weight", "dense.bias"}
    assert window.roles == TORCH.roles


def test_observations_of_two_frameworks_are_compared_by_canonical_names() -> None:
    ours, theirs = (
        CUSTOM.canonical(CUSTOM.trained(seen, name), name)
        for seen, name in ((PADDLE_SEEN, "paddle"), (TORCH_SEEN, "torch"))
    )
    assert set(ours.windows[0].before) == {"weight", "bias_ih"}
    checks, sizes = compare_models(ours, theirs, dtype="float32", init="bert")
    assert {c.result for c in checks if c.name.startswith("first gradients")} == {"pass"}
    assert max(sizes.values()) == 0.0


def test_a_weight_that_one_framework_does_not_train_is_a_difference() -> None:
    frozen = replace(TORCH, roles={"dense.bias": frozenset({"bias"})})
    other = replace(CUSTOM, models={"torch": frozen, "paddle": PADDLE})
    ours, theirs = (
        other.canonical(other.trained(seen, name), name)
        for seen, name in ((PADDLE_SEEN, "paddle"), (TORCH_SEEN, "torch"))
    )
    checks, _ = compare_models(ours, theirs, dtype="float32", init="bert")
    (weights,) = [c for c in checks if c.name.startswith("starting weights")]
    assert weights.result == "fail"
    assert "weight is missing on one side" in weights.wording


@pytest.mark.parametrize(
    ("shift", "result"), [(0.01, "pass"), (0.0001, "fail"), (0.5, "not tested")]
)
def test_gradients_may_be_off_as_far_as_rounding_moves_them(shift: float, result: str) -> None:
    def seen(by: float) -> Observation:
        arrays = {"w": KERNEL * np.float32(1 + by)}
        return observed({"w": KERNEL}, arrays)

    checks, _ = compare_models(
        seen(0.01), seen(0.0), dtype="float32", init="bert", shifted=seen(shift)
    )
    found = {c.name: c.result for c in checks if c.name.startswith("first gradients")}
    assert set(found.values()) == {result}


def test_weight_decay_follows_the_roles_of_layers_and_not_names() -> None:
    """A name such as `scale` tells nothing; the layer that holds it does."""
    recipe = own_recipe(
        schedule={"name": "constant", "total_steps": 100},
        optimizer={
            "name": "sgd",
            "learning_rate": 0.1,
            "weight_decay": 0.5,
            "no_decay": ("layer_norm",),
        },
    )
    gradient = {"scale": BIAS, "kernel": KERNEL}
    before = {"scale": BIAS + 3, "kernel": KERNEL + 3}
    after = {
        "scale": (before["scale"] - 0.1 * BIAS).astype(np.float32),
        "kernel": (before["kernel"] - 0.1 * (KERNEL + 0.5 * before["kernel"])).astype(np.float32),
    }
    roles = {"scale": frozenset({"layer_norm"}), "kernel": frozenset[str]()}
    lr = row(lr=0.1, grad_norm=float(np.sqrt((BIAS**2).sum() + (KERNEL**2).sum())))
    seen = observed(before, gradient, after=after, known=roles, row=lr)
    update = {c.name: c.result for c in replay_run(recipe, seen)}["update"]
    assert update == "pass"
    wrong = observed(before, gradient, after=after, known=dict.fromkeys(roles, frozenset()), row=lr)
    assert {c.name: c.result for c in replay_run(recipe, wrong)}["update"] == "fail"


Operations = Mapping[str, tuple[Operation, ...]]


def operation(name: str, dtype: str) -> Operation:
    return Operation(name=name, inputs=(dtype,), output=dtype, count=4)


def test_types_of_a_custom_model_are_those_of_its_matrix_products() -> None:
    """In which type the rest computes is the model's own affair, and autocast's."""
    recipe = own_recipe(precision={"mode": "mixed", "compute_dtype": "bfloat16"})
    half: Operations = {
        "matmul": (operation("linear", "bfloat16"),),
        "pointwise": (operation("dropout", "bfloat16"),),
    }

    def operations(found: Operations) -> str:
        seen = replace(TORCH_SEEN, manifest=Manifest(autocast="bfloat16", operations=found))
        checks = check_dtypes(recipe, CUSTOM.trained(seen, "torch"), emulated=False)
        return {c.name: c.result for c in checks}["operations"]

    assert operations(half) == "pass"
    wrong = {**half, "matmul": (operation("linear", "float32"),)}
    assert operations(wrong) == "fail"


def test_counters_in_files_are_no_weights(tmp_path: Path) -> None:
    from crosscast_parity.inputs.weights import save

    arrays = CUSTOM.of("torch", START)
    save(tmp_path / "model.safetensors", arrays)
    floats = {name: np.asarray(array, np.float32) for name, array in arrays.items()}
    seen = observed(floats, {}).windows
    (check,) = check_files(tmp_path, [row()], seen, TORCH.counters)
    assert check.result == "pass", check.wording
    floats["dense.other"] = floats["dense.other"] + np.float32(1)
    (check,) = check_files(tmp_path, [row()], observed(floats, {}).windows, TORCH.counters)
    assert check.result == "fail"


def part(tensor: str, role: str, base: str, **fields: Any) -> Part:
    known: dict[str, Any] = {
        "suffix": "",
        "shape": (3,),
        "layout": SAME,
        "full": (3,),
        "also": (),
        "known": True,
        "layer": "",
        "kind": base,
        "rank": 0,
        "trainable": True,
        "fixed": False,
    }
    return Part(tensor=tensor, role=role, base=base, **{**known, **fields})


ROLES = {
    "kernel": (part("kernel", "kernel", "Linear"), set()),
    "bias": (part("bias", "bias", "Linear"), {"bias", "other"}),
    "gamma": (part("gamma", "scale", "LayerNormalization"), {"layer_norm", "other"}),
    "own_norm": (part("own_norm", "scale", "RMSNorm", kind="Mine"), {"layer_norm", "other"}),
    "batch": (part("batch", "scale", "BatchNorm2d"), {"other"}),
    "batch_bias": (part("batch_bias", "bias", "BatchNorm2d"), {"bias", "other"}),
    "table": (part("table", "embedding", "Embedding"), {"embedding", "other"}),
    "conv": (part("conv", "kernel", "Conv2d"), {"other"}),
    "tied": (part("tied", "kernel", "Linear", also=("head",)), {"other"}),
    "guess": (part("guess", "kernel", "Module", known=False), {"other"}),
}


def test_roles_are_those_of_the_layers() -> None:
    parts = [found for found, _ in ROLES.values()]
    parts += [
        part("mean", "mean", "BatchNorm2d", trainable=False),
        part("frozen", "kernel", "Linear", trainable=False),
    ]
    arrays = {found.tensor: np.ones(3, np.float32) for found in parts}
    model = Model(
        framework="torch", parts=tuple(parts), counters=(), shapes={}, outputs=(), drawn={}
    )
    known = WeightsMap(frameworks=("torch",), entries=())
    found = custom_models(known, [model], {"torch": arrays}, {}, Path()).models["torch"]
    assert {name: set(roles) for name, roles in found.roles.items()} == {
        name: roles for name, (_, roles) in ROLES.items()
    }
    assert "head" in found.arrays


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
    np.testing.assert_array_equal(train["y"], rows["y"][: len(train["y"])])
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
    assert quick.derive(recipe).schedule.total_steps == quick.windows
    assert whole.derive(recipe) == recipe
    assert whole.windows > quick.windows


def test_noise_is_measured_on_the_reference(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", x=np.zeros((300, 1)), y=np.zeros(300))
    recipe = own_recipe()
    stage: Stage = custom_stages(recipe, 10, "quick", None, 3)[0]
    inputs = write_custom_inputs(recipe, tmp_path, 3, 8, replace(CUSTOM, folder=tmp_path))
    torch = Contestant(name="torch", target="torch", recipe=recipe)
    twins = twin_runs(torch, recipe, stage, inputs)
    shifted = {spec.name: spec for spec in twins if spec.record}
    assert set(shifted) == {"twin-of-float32-bert", "twin-of-float32-stress"}
    plain = plain_runs(torch, recipe, stage, inputs, (), emulated=False)
    starts = [spec for spec in plain if spec.starts and not spec.repeat]
    for spec in starts:  # on the same rows, for as long
        other = shifted[f"twin-of-{spec.name}"]
        assert (other.trained, other.record, other.windows, other.variant) == (
            (spec.trained, spec.record, spec.windows, spec.variant)
        )
    assert all(spec.masks == recipe.seed for spec in plain)


@pytest.mark.parametrize(
    ("off", "noise", "result"),
    [
        (0.0, 0.0, "pass"),
        (0.01, 0.0, "fail"),
        (0.01, 0.01, "pass"),
        (0.05, 0.01, "fail"),
        (0.0, 0.1, "not tested"),
    ],
)
def test_statistics_may_be_off_as_far_as_rounding_moves_them(
    off: float, noise: float, result: str
) -> None:
    start, moved = np.zeros(3, np.float32), np.ones(3, np.float32)
    ours, reference, shifted = ({"mean": moved * (1 + by)} for by in (off, 0.0, noise))
    check = check_statistics(ours, reference, shifted, {"mean": start}, 3)
    assert check.result == result


def test_statistics_that_one_side_lacks_are_a_difference() -> None:
    moved = {"mean": np.ones(3, np.float32)}
    assert check_statistics({}, moved, moved, {"mean": np.zeros(3)}, 3).result == "fail"


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
    half, exact = plain["half-stress"], twins["twin-of-half-stress"]
    assert (half.dtype, exact.dtype) == ("bfloat16", "float32")
    assert (half.trained, half.weights) == (exact.trained, exact.weights)
    assert twins["twin-of-float32-bert"].trained == plain["float32-bert"].trained


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Contestant(name="b", target="tensorflow", recipe=own_recipe()), "was not compared"),
        (Contestant(name="b", target="torch", recipe=own_recipe(), adapter="keras"), "emitted"),
        (Contestant(name="b", target="torch", recipe=own_recipe(), script=Path("x.py")), "emitted"),
        (
            Contestant(
                name="b", target="torch", recipe=own_recipe(loss={"kind": "mse", "target": "z"})
            ),
            "another model or loss",
        ),
    ],
    ids=["framework", "trainer", "script", "loss"],
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
