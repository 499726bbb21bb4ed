"""Level L0d on made-up observations: what operations store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crosscast.recipe.document import BertModel, Recipe
from crosscast_parity.recordings.observations import Observation
from crosscast_parity.recordings.type_manifest import Operation
from dtype_fakes import HALF, by_name, operations, recipe_in
from recipe_texts import recipe_of
from replay_fakes import record

STORED = "{mode: mixed, compute_dtype: float16}"
HALF_EVERYWHERE = {
    "pointwise": "float16",
    "sums": "float16",
    "scaled": "float16",
    "reductions": "float16",
    "sum": "float32",
}
"""As PyTorch computes what is stored in half: its kernels round once."""
WRONG_STORAGE = {
    "products in float32": {"matmul": "float32"},
    "GELU in float32": {"pointwise": "float32"},
    "residual sums in float32": {"sums": "float32"},
    "other half type": {"reductions": "bfloat16"},
    "statistics in half": {"sum": "float16"},
    "loss in half": {"losses": "float16"},
}


def of_version_2(**types: str) -> tuple[Recipe, Observation]:
    recipe = recipe_of(version="2", precision=STORED)
    manifest = operations("float16", **HALF_EVERYWHERE | types)
    return recipe, replace(record(recipe_in(HALF)), manifest=manifest)


def test_what_is_stored_in_half_may_be_rounded_by_a_kernel_or_a_cast() -> None:
    for reductions in ("float16", "float32"):
        checks = by_name(*of_version_2(reductions=reductions))
        assert checks["operations"].result == "pass", checks["operations"]


@pytest.mark.parametrize("mistake", WRONG_STORAGE)
def test_wrong_storage_is_found(mistake: str) -> None:
    check = by_name(*of_version_2(**WRONG_STORAGE[mistake]))["operations"]
    assert check.result == "fail", check


@pytest.mark.parametrize("half", [False, True])
def test_one_residual_sum_in_another_type_is_found(half: bool) -> None:
    """The sum of the embeddings is float32, so both types occur in a right run."""
    recipe, observation = of_version_2()
    if not half:
        recipe = recipe_of(version="2", precision=STORED.replace("}", ", policy: autocast}"))
    manifest = observation.manifest
    assert manifest is not None
    assert isinstance(recipe.model, BertModel)
    stream, other = ("float16", "float32") if half else ("float32", "float16")
    for missing, result in ((0, "pass"), (1, "fail")):
        sums = tuple(
            Operation(name="add", inputs=(dtype,), output=dtype, count=count)
            for dtype, count in ((stream, 2 * recipe.model.layers - missing), (other, 2))
        )
        reductions = "float16" if half else "float32"
        planted = operations("float16", **HALF_EVERYWHERE | {"reductions": reductions})
        found = dict(planted.operations)
        others = tuple(each for each in found["pointwise"] if each.name != "add")
        found["pointwise"] = (*others, *sums)
        check = by_name(recipe, replace(observation, manifest=replace(manifest, operations=found)))
        assert check["operations"].result == result, check["operations"]


def test_sums_under_other_names_accuse_no_program() -> None:
    """A program that adds in a fused operation shows fewer sums than the shipped BERT has."""
    recipe, observation = of_version_2()
    manifest = observation.manifest
    assert manifest is not None
    found = dict(manifest.operations)
    others = tuple(each for each in found["pointwise"] if each.name != "add")
    one = Operation(name="add", inputs=("float16",), output="float16", count=1)
    found["pointwise"] = (*others, one)
    check = by_name(recipe, replace(observation, manifest=replace(manifest, operations=found)))
    assert check["operations"].result == "pass", check["operations"]


def test_gradients_of_half_copies_are_handed_over_in_half_or_cast() -> None:
    recipe, found = of_version_2()
    for dtype, result in (("float16", "pass"), ("float32", "pass"), ("bfloat16", "fail")):
        windows = tuple(
            replace(
                window,
                gradient_dtypes={
                    name: dtype for name in window.before if "embedding" not in window.roles[name]
                },
            )
            for window in found.windows
        )
        check = by_name(recipe, replace(found, windows=windows))["gradient types"]
        assert check.result == result, (dtype, check)
