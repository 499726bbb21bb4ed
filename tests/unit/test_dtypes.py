"""Level L0d on made-up observations: types of operations, gradients and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crosscast.plan.operations import Dtype
from crosscast.reference.rounding import round_to
from crosscast_parity.levels.dtypes import half_casts, left_in_half
from crosscast_parity.recordings.observations import Observation
from crosscast_parity.recordings.type_manifest import Manifest, Operation
from dtype_fakes import BRAIN, FULL, HALF, NONE, by_name, operations, recipe_in, with_gradients
from replay_fakes import record


def observed(precision: str, **types: str) -> Observation:
    recipe = recipe_in(precision)
    found = record(recipe)
    half = recipe.precision.compute_dtype
    if recipe.precision.mode == "full":
        windows = tuple(
            replace(
                window,
                gradient_dtypes={
                    name: "float32" if "LayerNorm" in name else half for name in window.before
                },
            )
            for window in found.windows
        )
        found = replace(found, windows=windows)
    return replace(found, manifest=operations(half, **types))


@pytest.mark.parametrize("precision", [NONE, HALF, BRAIN, FULL])
def test_faithful_runs_pass(precision: str) -> None:
    lookup = "float16" if precision == FULL else "float32"
    checks = by_name(recipe_in(precision), observed(precision, lookup=lookup), emulated=True)
    assert {name: check.result for name, check in checks.items()} == {
        "operations": "pass",
        "operations of the evaluation": "pass",
        "gradient types": "pass",
        "gradient grid": "pass",
        "weight grid": "pass",
    }
    assert ("emulation" in checks["operations"].wording) == (precision != NONE)


EVALUATED = "operations of the evaluation"


@pytest.mark.parametrize("precision", [NONE, HALF, BRAIN, FULL])
@pytest.mark.parametrize("computed", ["float32", "float16", "bfloat16"])
def test_an_evaluation_in_another_type_is_found(precision: str, computed: str) -> None:
    recipe = recipe_in(precision)
    found = observed(precision, lookup="float16" if precision == FULL else "float32")
    assert found.manifest
    other = replace(found.manifest, evaluation=operations(computed).operations)
    checks = by_name(recipe, replace(found, manifest=other))
    right = computed == recipe.precision.compute_dtype
    assert checks[EVALUATED].result == ("pass" if right else "fail")
    assert checks["operations"].result == "pass"
    if not right:
        assert checks[EVALUATED].wording.startswith(f"linear (matmul) computed in {computed}, not")


def test_a_loss_of_the_evaluation_in_half_is_found() -> None:
    found = observed(HALF)
    assert found.manifest
    other = replace(found.manifest, evaluation=operations("float16", losses="float16").operations)
    checks = by_name(recipe_in(HALF), replace(found, manifest=other))
    assert checks[EVALUATED].wording.startswith("cross_entropy (losses) computed in float16")


def test_an_evaluation_that_was_not_seen_is_not_tested() -> None:
    found = observed(HALF)
    assert found.manifest
    unseen = replace(found, manifest=replace(found.manifest, evaluation={}))
    checks = by_name(recipe_in(HALF), unseen)
    assert checks[EVALUATED].result == "not tested"
    assert checks["operations"].result == "pass"


def test_casts_alone_accuse_nobody_and_are_told() -> None:
    cast = Operation(name="cast", inputs=("float32",), output="float16", count=3)
    for precision in (NONE, HALF):
        found = observed(precision)
        assert found.manifest
        classes = {**found.manifest.operations, "casts": (cast,)}
        manifest = replace(found.manifest, operations=classes)
        checks = by_name(recipe_in(precision), replace(found, manifest=manifest))
        assert checks["operations"].result == "pass"
        assert half_casts(manifest) == "the forward pass casts to float16 (3 times)"
        assert half_casts(found.manifest) == half_casts(None) == ""
    only = Manifest(autocast=None, operations={"casts": (cast,)})
    assert left_in_half(only) == "no operations were recorded"


@pytest.mark.parametrize(
    ("precision", "computed", "result"),
    [
        (HALF, "float16", "pass"),
        (HALF, "bfloat16", "fail"),
        (HALF, None, "fail"),
        (BRAIN, "bfloat16", "pass"),
        (BRAIN, "float16", "fail"),
        (BRAIN, None, "fail"),
        (NONE, None, "pass"),
        (NONE, "float16", "fail"),
        (NONE, "bfloat16", "fail"),
        ("{mode: mixed, compute_dtype: float16, ops: {matmul: float32}}", None, "pass"),
        ("{mode: mixed, compute_dtype: float16, ops: {matmul: float32}}", "float16", "fail"),
    ],
)
def test_gradients_show_the_type_of_their_products(
    precision: str, computed: Dtype | None, result: str
) -> None:
    recipe = recipe_in(precision)
    check = by_name(recipe, with_gradients(record(recipe), computed))["gradient grid"]
    assert check.result == result, check.wording
    assert ("window 0" in check.wording) == (result == "fail")


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_weights_in_half_are_found(half: Dtype) -> None:
    recipe = recipe_in(HALF)

    def rounded(number: int, parameters: dict[str, np.ndarray]) -> None:
        parameters.update({n: round_to(a, half) for n, a in parameters.items()})

    check = by_name(recipe, record(recipe, after_window=rounded))["weight grid"]
    assert check.result == "fail"
    assert half in check.wording


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_weights_that_are_half_from_the_start_are_found(half: Dtype) -> None:
    found = record(recipe_in(HALF))
    windows = tuple(
        replace(
            window,
            before={n: round_to(a, half) for n, a in window.before.items()},
            after={n: round_to(a, half) for n, a in window.after.items()},
        )
        for window in found.windows
    )
    check = by_name(recipe_in(HALF), replace(found, windows=windows))["weight grid"]
    assert check.result == "fail"
    assert half in check.wording


def with_vector(start: np.ndarray, steps: Sequence[np.ndarray]) -> Observation:
    """A faithful run in which one more bias takes these steps, one a window."""
    name, value = "bert.encoder.layer.0.output.dense.bias", start.astype("f4")
    windows = []
    for window, step in zip(record(recipe_in(HALF)).windows, steps, strict=True):
        before, value = value, (value + step).astype("f4")
        windows.append(
            replace(
                window, before={**window.before, name: before}, after={**window.after, name: value}
            )
        )
    return Observation(windows=tuple(windows))


@pytest.mark.parametrize("start", [0.0, 1.0])
@pytest.mark.parametrize("rate", [2.0**-10, 1e-3])
def test_vectors_that_begin_on_the_grid_accuse_nobody(start: float, rate: float) -> None:
    """Lion moves every entry by the rate alone, so sums of few steps have few bits."""
    ways = ((1, 1, 1, 1), (1, 1, 1, -1), (-1, 1, 1, 1), (-1, -1, 1, 1))
    for signs in ways:
        steps = [np.full(64, sign * rate) for sign in signs]
        found = with_vector(np.full(64, start), steps)
        assert by_name(recipe_in(HALF), found)["weight grid"].result == "pass", signs
        cut = replace(found, windows=found.windows[:3])
        assert by_name(recipe_in(HALF), cut)["weight grid"].result == "pass", signs


def test_gradients_of_few_bits_move_biases_on_the_grid() -> None:
    """SGD with a rate of a quarter, gradients straight from bfloat16 products."""
    steps = [
        round_to(np.random.default_rng(n).standard_normal(64).astype("f4"), "bfloat16") / 4
        for n in range(4)
    ]
    found = with_vector(np.zeros(64), [steps[0], *(0 * step for step in steps[1:])])
    found = replace(found, windows=found.windows[:1])
    assert by_name(recipe_in(HALF), found)["weight grid"].result == "pass"


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_vectors_that_begin_anywhere_are_judged(half: Dtype) -> None:
    """As under the stress weights."""
    start = np.random.default_rng(1).standard_normal(64).astype("f4")
    fine = with_vector(start, [np.full(64, 2.0**-10)] * 4)
    assert by_name(recipe_in(HALF), fine)["weight grid"].result == "pass"
    rounded = round_to(start + np.float32(2.0**-6), half)
    found = with_vector(start, [rounded - start, *[np.full(64, 2.0**-3)] * 3])
    found = replace(found, windows=found.windows[:1])
    check = by_name(recipe_in(HALF), found)["weight grid"]
    assert check.result == "fail"
    assert "output.dense.bias" in check.wording


WRONG_TYPES: dict[str, tuple[str, dict[str, str]]] = {
    "softmax in half": (HALF, {"reductions": "float16", "norm": "float32"}),
    "layer_norm in half": (HALF, {"norm": "float16"}),
    "loss in half": (HALF, {"losses": "float16"}),
    "sum of rows in half": (HALF, {"sum": "float16"}),
    "gelu in half": (HALF, {"pointwise": "float16"}),
    "residual in half": (HALF, {"sums": "float16"}),
    "lookup in half": (HALF, {"lookup": "float16"}),
    "matmul in float32": (HALF, {"matmul": "float32"}),
    "matmul in bfloat16": (HALF, {"matmul": "bfloat16"}),
    "matmul in float16": (BRAIN, {"matmul": "float16"}),
    "half in float32": (NONE, {"matmul": "float16"}),
    "half loss in float32": (NONE, {"losses": "float16"}),
    "scaled in half in float32": (NONE, {"scaled": "float16"}),
}


@pytest.mark.parametrize("mistake", WRONG_TYPES)
def test_operations_in_wrong_types_are_found(mistake: str) -> None:
    precision, types = WRONG_TYPES[mistake]
    check = by_name(recipe_in(precision), observed(precision, **types))["operations"]
    assert check.result == "fail", check


CHOSEN: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "pointwise": ({"pointwise": "float16", "sums": "float16"}, {}),
    "reductions": ({"reductions": "float16"}, {}),
    "losses": ({"losses": "float16"}, {}),
    "embeddings": ({"lookup": "float16"}, {"losses": "float16"}),
}


@pytest.mark.parametrize("kind", CHOSEN)
def test_chosen_types_of_classes_are_followed(kind: str) -> None:
    right, wrong = CHOSEN[kind]
    precision = f"{{mode: mixed, compute_dtype: float16, ops: {{{kind}: compute}}}}"
    recipe = recipe_in(precision)
    assert by_name(recipe, observed(precision, **right))["operations"].result == "pass"
    assert by_name(recipe, observed(precision, **wrong))["operations"].result == (
        "fail" if wrong or kind != "embeddings" else "pass"
    )


def test_attention_may_be_scaled_in_half() -> None:
    check = by_name(recipe_in(HALF), observed(HALF, scaled="float16"))["operations"]
    assert check.result == "pass"


def test_gradients_delivered_in_another_type_are_found() -> None:
    for precision, dtype in ((HALF, "float16"), (FULL, "float32"), (NONE, "bfloat16")):
        recipe = recipe_in(precision)
        found = record(recipe)
        types = dict.fromkeys(found.windows[0].before, dtype)
        windows = tuple(replace(window, gradient_dtypes=types) for window in found.windows)
        check = by_name(recipe, replace(found, windows=windows))["gradient types"]
        assert check.result == "fail"


def test_what_was_not_recorded_is_not_tested() -> None:
    recipe = recipe_in(HALF)
    changes: dict[str, Any] = {"first": {}, "gradient_dtypes": {}}
    windows = tuple(
        replace(window, after=window.before, **changes) for window in record(recipe).windows
    )
    for found in (Observation(windows=windows), Observation(windows=())):
        checks = by_name(recipe, found)
        assert {check.result for check in checks.values()} == {"not tested"}
        assert all(check.wording for check in checks.values())


def test_a_window_of_one_micro_batch_needs_no_first_gradients() -> None:
    recipe = recipe_in(HALF)
    found = record(recipe, rows=((4,),))
    windows = tuple(replace(window, first={}) for window in found.windows)
    assert by_name(recipe, Observation(windows=windows))["gradient grid"].result == "pass"


def test_gradients_with_infinities_are_judged_by_the_rest() -> None:
    recipe = recipe_in(HALF)
    found = record(recipe, overflow=(0, 1, 2, 3))
    assert by_name(recipe, found)["gradient grid"].result == "not tested"
