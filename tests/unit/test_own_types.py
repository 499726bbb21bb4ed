"""L0d of custom models: every operation is judged by the recipe, or is said not to be."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from crosscast_parity.checks.check import Check
from crosscast_parity.checks.table import find_kind
from crosscast_parity.inside.manifest import CLASSES
from crosscast_parity.levels.dtypes import check_dtypes
from crosscast_parity.levels.own_types import class_of
from crosscast_parity.recordings.observations import Observation
from crosscast_parity.recordings.type_manifest import Manifest, Operation, OrderedCall
from custom_fakes import own_recipe

H, F, OTHER = "bfloat16", "float32", "float16"


def call(name: str, output: str, place: str = "block", **more: Any) -> OrderedCall:
    fields: dict[str, Any] = {
        "inputs": (output,),
        "size": 64,
        "whole": True,
        "narrowed": False,
        "usual": True,
        "plain": output,
        "rounded": False,
        "lookups": False,
        "learned": True,
    }
    return OrderedCall(name=name, output=output, place=place, **{**fields, **more})


FORWARD = (
    call("embedding", F, ""),
    call("add", F, "", lookups=True),
    call("layer_norm", F),
    call("linear", H),
    call("gelu", H),
    call("linear", H),
    call("dropout", H),
    call("add", F),
    call("layer_norm", F, ""),
    call("linear", H, "head"),
    call("cross_entropy", F, ""),
)
SUM, NORM, PRODUCT, GELU = 7, 8, 3, 4


def manifest(*order: OrderedCall, closed: tuple[str, ...] = (), more: int = 0) -> Manifest:
    """Return what was recorded; `more` sums are beyond the order."""
    counts = Counter((call.name, call.output) for call in order)
    operations: dict[str, list[Operation]] = {kind: [] for kind in CLASSES}
    for (name, output), count in counts.items():
        kind = next(kind for kind, names in CLASSES.items() if name in names)
        extra = more if name == "add" else 0
        operations[kind].append(
            Operation(name=name, inputs=(output,), output=output, count=count + extra)
        )
    by_kind = {kind: tuple(of_kind) for kind, of_kind in operations.items()}
    return Manifest(autocast=H, operations=by_kind, order=order, closed=closed)


def with_call(number: int, other: OrderedCall) -> Manifest:
    return manifest(*FORWARD[:number], other, *FORWARD[number + 1 :])


def checks(seen: Manifest | None, **precision: Any) -> dict[str, Check]:
    precision = {"mode": "mixed", "compute_dtype": H, **precision}
    recipe = own_recipe(version=2, precision=precision)
    made = check_dtypes(recipe, Observation(windows=(), manifest=seen), emulated=False)
    kinds = [find_kind(check.level, check.name) for check in made]
    assert all(kinds)
    return {check.name: check for check in made}


def judged(seen: Manifest | None, **precision: Any) -> Check:
    return checks(seen, **precision)["operations"]


def test_a_right_model_is_told_with_all_its_operations() -> None:
    check = judged(manifest(*FORWARD))
    assert check.result == "pass"
    assert check.wording == (
        "3 products in the types of the recipe;"
        " 8 other operations as autocast or policy and the recipe have them"
        " (6 in float32, 2 in bfloat16)"
    )


ADDED: dict[str, Any] = {"place": "block", "plain": F, "rounded": True}
WRONG = {
    "a residual sum in half": (
        with_call(SUM, call("add", H, **ADDED)),
        "add of block (residual) in bfloat16: by the model's own cast or autocast,"
        " where the recipe has float32",
    ),
    "a residual sum of what was rounded": (
        with_call(SUM, call("add", F, rounded=True)),
        "add of block (residual) in float32 of what was cast to half",
    ),
    "a residual sum in half by an autocast of its own": (
        with_call(SUM, call("add", H, plain=F)),
        "add of block (residual) in bfloat16",
    ),
    "a LayerNorm of what was rounded": (
        with_call(NORM, call("layer_norm", F, "norm", rounded=True)),
        "layer_norm of norm (reductions) in float32 of what was cast to half",
    ),
    "statistics in half": (
        with_call(NORM, call("mean", H, **ADDED)),
        "mean of block (reductions) in bfloat16",
    ),
    "a sum of rounded lookups": (
        with_call(1, call("add", H, "", lookups=True, plain=F, rounded=True)),
        "add (embeddings) in bfloat16",
    ),
    "a product in float32": (
        with_call(PRODUCT, call("linear", F)),
        "linear of block (matmul) computed in float32, not bfloat16",
    ),
    "a product in the other half type": (
        with_call(PRODUCT, call("linear", OTHER)),
        "linear of block (matmul) in float16, not bfloat16",
    ),
    "an activation in the other half type": (
        with_call(GELU, call("gelu", OTHER)),
        "gelu of block (pointwise) in float16, not bfloat16",
    ),
    "a loss in half": (
        with_call(10, call("cross_entropy", H, "")),
        "cross_entropy (losses) in bfloat16, not float32",
    ),
    "a loss of what was rounded": (
        with_call(10, call("cross_entropy", F, "", rounded=True)),
        "cross_entropy (losses) in float32 of what was cast to half, not float32",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_the_model_rounds_is_named_with_its_place(name: str) -> None:
    seen, words = WRONG[name]
    check = judged(seen)
    assert check.result == "fail"
    assert check.wording.startswith(words)


RIGHT = {
    "an activation in float32": call("gelu", F, plain=H),
    "an activation of what was rounded": call("gelu", H, plain=F, rounded=True),
    "a LayerNorm in half whose result was not rounded before": call("layer_norm", H, plain=F),
    "a bias": call("add", H, whole=False, plain=F, rounded=True),
    "a lookup": call("embedding", H, plain=F, rounded=True),
    "a product of constants": call("matmul", F, learned=False),
    "a constant in the other half type": call("mul", OTHER, learned=False),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_changes_nothing_but_memory_is_not_accused(name: str) -> None:
    check = judged(with_call(GELU, RIGHT[name]))
    assert check.result == "pass", check.wording
    own = RIGHT[name].plain == F and RIGHT[name].output == H
    assert ("by the model's own casts" in check.wording) == own


STREAM = manifest(
    *FORWARD[:SUM], call("add", H, **ADDED), call("layer_norm", F, rounded=True), *FORWARD[9:]
)


@pytest.mark.parametrize(
    "precision", [{"policy": "stored_half"}, {"policy": "keras"}, {"ops": {"residual": "half"}}]
)
def test_a_recipe_that_stores_half_lets_a_model_do_so(precision: dict[str, Any]) -> None:
    assert judged(STREAM, **precision).result == "pass"
    assert judged(STREAM).result == "fail"
    assert judged(STREAM, policy="autocast").result == "fail"
    assert judged(WRONG["a loss in half"][0], **precision).result == "fail"


def test_half_weights_make_what_they_make() -> None:
    assert judged(STREAM, mode="full").result == "pass"


def test_a_stream_that_stays_float32_against_the_recipe_is_told() -> None:
    check = judged(manifest(*FORWARD), ops={"residual": "half"})
    words = "residual: all 1 sums are kept in float32, where the recipe has half"
    assert (check.result, check.wording) == ("fail", words)
    without = [call for call in FORWARD if class_of(call) != "residual"]
    assert judged(manifest(*without), ops={"residual": "half"}).result == "pass"


def test_the_first_of_several_are_named_and_the_rest_counted() -> None:
    wrong = [call("linear", F, f"block{n}") for n in range(5)]
    check = judged(manifest(*wrong))
    assert check.wording.count("linear of block") == 3
    assert check.wording.endswith("; 2 more")


def test_the_reason_of_several_is_given_once() -> None:
    wrong = [call("add", H, f"block{n}", plain=F, rounded=True) for n in range(2)]
    words = judged(manifest(*FORWARD, *wrong)).wording
    assert words.count("where the recipe has float32") == 1
    assert words.endswith("; add of block1 (residual) in bfloat16")


def test_what_was_not_seen_is_said() -> None:
    seen = manifest(*FORWARD, closed=("multi_head_attention_forward",), more=7)
    made = checks(seen)
    assert made["operations"].result == "pass"
    rest = made["operations, the rest"]
    assert rest.result == "not tested"
    assert "7 operations whose order was not recorded" in rest.wording
    assert "what runs inside of multi_head_attention_forward was not seen" in rest.wording
    assert "operations, the rest" not in checks(manifest(*FORWARD))


def test_products_beyond_the_recorded_order_are_judged_too() -> None:
    seen = manifest(*FORWARD)
    products = (*seen.operations["matmul"], Operation(name="mm", inputs=(F,), output=F, count=1))
    more = replace(seen, operations={**seen.operations, "matmul": products})
    assert judged(more).wording == "mm (matmul) computed in float32, not bfloat16"


def test_operations_in_half_that_only_the_evaluation_has_are_counted() -> None:
    seen = manifest(*FORWARD)
    same = checks(replace(seen, evaluation=seen.operations))
    assert same["operations of the evaluation"].result == "pass"
    assert "operations of the evaluation, the rest" not in same
    evaluated = manifest(*FORWARD, call("add", H), call("sum", F), call("mean", H)).operations
    rest = checks(replace(seen, evaluation=evaluated))["operations of the evaluation, the rest"]
    assert rest.result == "not tested"
    assert rest.wording == "2 operations in half that the forward pass lacks, as add"


def test_products_of_constants_may_be_float32_in_the_evaluation_too() -> None:
    angles, wrong = call("matmul", F, learned=False), call("linear", F)
    seen = manifest(*FORWARD, angles)
    made = checks(replace(seen, evaluation=seen.operations))
    assert made["operations of the evaluation"].result == "pass"
    evaluated = manifest(*FORWARD, angles, wrong).operations
    assert checks(replace(seen, evaluation=evaluated))["operations of the evaluation"].wording == (
        "linear (matmul) computed in float32, not bfloat16"
    )


@pytest.mark.parametrize("seen", [None, manifest()])
def test_without_a_recording_nothing_is_tested(seen: Manifest | None) -> None:
    assert judged(seen).result == "not tested"
