"""Runs of custom models: their weights, and what was observed of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.weights.document import WeightsMap
from crosscast.weights.layout import SAME
from crosscast_parity.levels.dtypes import check_dtypes
from crosscast_parity.levels.files import check_files
from crosscast_parity.levels.model import compare_models
from crosscast_parity.levels.replay import replay_run
from crosscast_parity.levels.statistics import check_statistics
from crosscast_parity.modules.training import custom_models
from crosscast_parity.recordings.observations import Observation, ObservedWindow
from crosscast_parity.recordings.trace import TraceRow
from crosscast_parity.recordings.type_manifest import Manifest, Operation
from crosscast_parity.weights.model import Model, Part
from custom_fakes import BIAS, CUSTOM, KERNEL, KNOWN, PADDLE, START, TORCH, own_recipe


def row(**fields: Any) -> TraceRow:
    known = {"window": 0, "n_micro": 1, "rows": 8, "loss": 1.0, "lr": 0.1, "grad_norm": 1.0}
    return TraceRow(**{**known, "scale": 1.0, "skipped": False, "updates": 1, **fields})


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
    checks, sizes = compare_models(ours, theirs, dtype="float32", init="initial")
    assert {c.result for c in checks if c.name.startswith("first gradients")} == {"pass"}
    assert max(sizes.values()) == 0.0


def test_a_weight_that_one_framework_does_not_train_is_a_difference() -> None:
    frozen = replace(TORCH, roles={"dense.bias": frozenset({"bias"})})
    other = replace(CUSTOM, models={"torch": frozen, "paddle": PADDLE})
    ours, theirs = (
        other.canonical(other.trained(seen, name), name)
        for seen, name in ((PADDLE_SEEN, "paddle"), (TORCH_SEEN, "torch"))
    )
    checks, _ = compare_models(ours, theirs, dtype="float32", init="initial")
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

    near = [(seen(0.0), seen(shift))]
    checks, _ = compare_models(seen(0.01), seen(0.0), dtype="float32", init="initial", near=near)
    found = {c.name: c.result for c in checks if c.name.startswith("first gradients")}
    assert set(found.values()) == {result}


@pytest.mark.parametrize("reference", [True, False])
def test_a_bug_in_half_precision_is_no_room_for_itself(reference: bool) -> None:
    """What one program is off its own float32 by says nothing if the other one is not."""

    def seen(by: float) -> Observation:
        return observed({"w": KERNEL}, {"w": KERNEL * np.float32(1 + by)})

    exact, right, wrong = seen(0.0), seen(0.001), seen(0.08)
    ours, theirs = (right, wrong) if reference else (wrong, right)
    near = [(theirs, exact), (ours, exact)]
    checks, _ = compare_models(ours, theirs, dtype="bfloat16", init="stress", near=near)
    found = {c.name: c for c in checks if c.name.startswith("first gradients")}
    assert found["first gradients, stress"].result == "fail"
    assert found["first gradients by tensor, stress"].limit == 0.16  # that of the type


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
    "gamma": (part("gamma", "scale", "LayerNormalization"), {"layer_norm", "norm", "other"}),
    "own_norm": (
        part("own_norm", "scale", "RMSNorm", kind="Mine"),
        {"layer_norm", "norm", "other"},
    ),
    "batch": (part("batch", "scale", "BatchNorm2d"), {"norm", "other"}),
    "batch_b": (part("batch_b", "bias", "BatchNorm2d"), {"bias", "norm", "other"}),
    "own.bias_table": (part("own.bias_table", "", "Module", known=False), {"bias", "other"}),
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
    found = custom_models(known, [model], {"torch": arrays}, {}, Path(), {}, {}).models["torch"]
    assert {name: set(roles) for name, roles in found.roles.items()} == {
        name: roles for name, (_, roles) in ROLES.items()
    }
    assert "head" in found.arrays


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
    check = check_statistics(ours, reference, [shifted], {"mean": start}, 3)
    assert check.result == result


def test_statistics_that_one_side_lacks_are_a_difference() -> None:
    moved = {"mean": np.ones(3, np.float32)}
    assert check_statistics({}, moved, [moved], {"mean": np.zeros(3)}, 3).result == "fail"


def test_a_frozen_bias_is_part_of_the_one_that_is_trained() -> None:
    """Keras has the sum of both only; of it the trained one can be told if the other one is 0."""
    empty: dict[str, Any] = {"parts": (), "counters": (), "shapes": {}, "outputs": (), "drawn": {}}
    models = [Model(framework=name, **empty) for name in KNOWN.frameworks]
    found = custom_models(
        KNOWN, models, {"torch": CUSTOM.of("torch", START), "paddle": {}}, START, Path(), {}, {}
    )
    for weights in (found.start, found.drawn):
        np.testing.assert_allclose(weights["bias_ih"], 3 * BIAS, rtol=1e-6)
        assert not weights["bias_hh"].any()
    torch, paddle = (
        CUSTOM.canonical(observed(CUSTOM.of(name, found.drawn), {}), name)
        for name in ("torch", "paddle")
    )
    for name in ("weight", "bias_ih"):
        np.testing.assert_array_equal(torch.windows[0].before[name], paddle.windows[0].before[name])


def test_a_map_that_says_otherwise_is_judged_again() -> None:
    other = replace(CUSTOM, known=replace(KNOWN, entries=KNOWN.entries[:2]))
    roles = replace(CUSTOM, models={**CUSTOM.models, "torch": replace(TORCH, roles={})})
    assert len({CUSTOM.digest, replace(CUSTOM).digest, other.digest, roles.digest}) == 3


def test_statistics_about_which_rounding_decides_are_counted() -> None:
    moved = {name: np.ones(3, np.float32) for name in ("calm", "wild")}
    shifted = {**moved, "wild": 2 * moved["wild"]}
    start = {name: np.zeros(3, np.float32) for name in moved}
    check = check_statistics(moved, moved, [shifted], start, 3)
    assert check.result == "pass"
    assert "rounding decides about 1 of 2 tensors" in check.wording
