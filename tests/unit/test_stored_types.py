"""What the shipped BERT keeps, judged by made-up calls in the order of a forward pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from crosscast.plan.operations import Dtype
from crosscast.recipe.document import Recipe
from crosscast_parity.levels.dtypes import check_dtypes
from crosscast_parity.levels.gradient_types import wrong_gradients
from crosscast_parity.levels.masks import compare_masks, places_of_dropout
from crosscast_parity.levels.stored_types import wrong_storage
from crosscast_parity.recordings.masks import DropoutCall, GivenMasks
from crosscast_parity.recordings.observations import Observation
from crosscast_parity.recordings.type_manifest import Manifest, Operation, OrderedCall
from dtype_fakes import HALF, recipe_in, with_gradients
from recipe_texts import recipe_of
from replay_fakes import record

SIZE = 6144
LAYERS = 2
MODEL = "{kind: bert, preset: tiny, labels: 3, dropout: 0.1}"


def recipe(precision: str = HALF, version: str = "2", model: str = MODEL) -> Recipe:
    return recipe_of(version=version, precision=precision, model=model)


def call(name: str, inputs: str, output: str, size: int = SIZE, **more: bool) -> OrderedCall:
    flags: dict[str, Any] = {"whole": False, "narrowed": False, "usual": True, **more}
    flags |= {"rounded": False, "lookups": False, "learned": True}
    types: dict[str, Any] = {"inputs": (inputs,), "output": output, "plain": output}
    return OrderedCall(name=name, size=size, place="", **types, **flags)


LOOKUPS = (
    call("embedding", "float32", "float32"),
    call("embedding", "float32", "float32"),
    call("add", "float32", "float32", whole=True),
    call("embedding", "float32", "float32", size=1536),
    call("add", "float32", "float32"),
    call("cast", "float32", "float16"),
    call("layer_norm", "float16", "float16", narrowed=True),
)
DROPPED_SUM = (
    call("linear", "float16", "float16"),
    call("dropout", "float16", "float16"),
    call("add", "float16", "float16", whole=True),
    call("layer_norm", "float16", "float16"),
)
FUSED = (call("scaled_dot_product_attention", "float16", "float16", whole=True),)
SCORES = (
    call("matmul", "float16", "float16", size=4608),
    call("cast", "float16", "float32", size=4608),
    call("div", "float32", "float32", size=4608),
    call("add", "float32", "float32", size=4608),
    call("softmax", "float32", "float32", size=4608),
    call("cast", "float32", "float16", size=4608),
    call("matmul", "float16", "float16"),
)
"""As TensorFlow's scripts compute attention."""


def forward(attention: Sequence[OrderedCall] = FUSED) -> list[OrderedCall]:
    gelu = call("gelu", "float16", "float16", size=24576)
    layer = (*attention, *DROPPED_SUM, gelu, *DROPPED_SUM)
    end = (call("linear", "float16", "float16"), call("tanh", "float16", "float16", size=256))
    return [*LOOKUPS, *layer * LAYERS, *end]


def judged(order: Sequence[OrderedCall], *, fused: bool = True, of: Recipe | None = None) -> str:
    return "; ".join(wrong_storage(of or recipe(), order, fused=fused))


def with_call(name: str, number: int = 0, **changes: Any) -> list[OrderedCall]:
    """Return the forward pass with one call of a name changed."""
    order = forward()
    places = [n for n, one in enumerate(order) if one.name == name]
    order[places[number]] = replace(order[places[number]], **changes)
    return order


def around(name: str, *, number: int = 0) -> list[OrderedCall]:
    """Return the forward pass with a call in float32 between a cast to it and one back."""
    order = with_call(name, number, inputs=("float32",), output="float32")
    place = [n for n, one in enumerate(order) if one.name == name][number]
    size = order[place].size or 0
    casts = (call("cast", "float16", "float32", size), call("cast", "float32", "float16", size))
    return [*order[:place], casts[0], order[place], casts[1], *order[place + 1 :]]


def test_right_runs_are_not_accused() -> None:
    assert judged(forward()) == ""
    assert judged(forward(SCORES), fused=False) == ""
    explicit = recipe(model=MODEL.replace("}", ", attention: explicit}"))
    assert judged(forward(SCORES), of=explicit) == ""


def test_a_cast_to_the_other_half_type_is_found() -> None:
    order = forward()
    there = call("cast", "float16", "bfloat16")
    order[9:9] = [there, call("cast", "bfloat16", "float16")]
    assert judged(order) == "cast to bfloat16, not float16"


def test_without_calls_nothing_is_judged() -> None:
    assert judged([]) == ""
    assert judged(forward(), of=recipe("{mode: none}")) == ""


@pytest.mark.parametrize("number", [0, 1])
def test_a_sum_of_embeddings_in_half_is_found(number: int) -> None:
    order = with_call("add", number, output="float16")
    assert "sum of embeddings) computed in float16, not float32" in judged(order)


def test_embeddings_that_are_rounded_and_then_summed_are_found() -> None:
    assert "adds embeddings that were rounded" in judged(with_call("add", 1, narrowed=True))
    lookups_in_half = recipe(HALF.replace("}", ", ops: {embeddings: half}}"))
    order = forward()
    for n in (2, 4):
        order[n] = replace(order[n], output="float16", narrowed=True)
    assert judged(order, of=lookups_in_half) == ""


def test_a_table_in_half_is_found_in_mixed_precision() -> None:
    order = with_call("embedding", inputs=("float16",))
    assert "reads a table in float16" in judged(order)
    full = recipe("{mode: full, compute_dtype: float16}")
    assert judged(order, of=full) == ""


def test_a_table_may_be_rounded_before_lookups_in_half() -> None:
    """As layers of Keras do under a mixed policy."""
    order = forward()
    lookups = [replace(one, inputs=("float16",), output="float16") for one in order[:5]]
    lookups_in_half = recipe(HALF.replace("}", ", ops: {embeddings: half}}"))
    assert judged([*lookups, *order[6:]], of=lookups_in_half) == ""
    assert "reads a table in float16" in judged([*lookups, *order[6:]])


@pytest.mark.parametrize("number", range(2, 2 + 2 * LAYERS))
def test_one_residual_sum_in_float32_is_found(number: int) -> None:
    order = with_call("add", number, output="float32")
    assert "residual stream) computed in float32, not float16" in judged(order)


def test_a_residual_sum_in_half_is_found_where_the_stream_is_float32() -> None:
    stream = recipe(HALF.replace("}", ", ops: {residual: float32}}"))
    assert "(residual stream) computed in float16, not float32" in judged(forward(), of=stream)


def test_a_result_that_is_kept_in_float32_is_found() -> None:
    order = with_call("layer_norm", 1, output="float32")
    assert judged(order) == "layer_norm kept in float32, not float16"
    assert judged(around("layer_norm", number=1)) == ""
    last = [*LOOKUPS[:-1], call("layer_norm", "float32", "float32")]
    assert "kept in float32" in judged(last, fused=False)


def test_a_softmax_that_is_kept_in_float32_is_found() -> None:
    without_cast = (*SCORES[:5], *SCORES[6:])
    assert judged(forward(without_cast), fused=False).startswith("softmax kept in float32")


def test_scores_that_are_rounded_before_the_softmax_are_found() -> None:
    narrowed = replace(SCORES[4], narrowed=True)
    order = forward((*SCORES[:4], narrowed, *SCORES[5:]))
    assert judged(order, fused=False).startswith("softmax gets scores that were rounded")
    layers = recipe(HALF.replace("}", ", policy: keras}"))
    assert "rounded" not in judged(order, fused=False, of=layers)


@pytest.mark.parametrize("name", ["dropout", "gelu", "tanh"])
def test_a_pointwise_operation_in_float32_is_found(name: str) -> None:
    words = f"{name} (pointwise) computed in float32, not float16"
    order = around(name)
    if name == "tanh":
        order.append(call("cast", "float32", "float16", size=256))
    assert words in judged(order)


def test_scores_are_found_where_attention_is_fused() -> None:
    assert "attention keeps its scores" in judged(forward(SCORES))
    order = [call for call in forward() if call.name != "scaled_dot_product_attention"]
    assert "0 fused attentions, not 2" in judged(order)


def test_the_order_of_calls_is_part_of_the_check_of_operations() -> None:
    product = Operation(name="linear", inputs=("float16",), output="float16", count=14)
    for order, result in ((forward(), "pass"), (with_call("add", 1, narrowed=True), "fail")):
        manifest = Manifest(autocast=None, operations={"matmul": (product,)}, order=tuple(order))
        seen = Observation(windows=(), manifest=manifest)
        checks = {c.name: c for c in check_dtypes(recipe(), seen, emulated=True, fused=True)}
        assert checks["operations"].result == result


def masks(count: int) -> GivenMasks:
    one = DropoutCall(module="", shape=(4, 24, 64), rate=0.1)
    return GivenMasks(calls=(one,) * count, out_of_reach=())


@pytest.mark.parametrize("count", [6, 7, 9, 10])
def test_dropout_that_is_left_out_or_doubled_is_a_difference(count: int) -> None:
    places = places_of_dropout(recipe())
    assert places == 8
    check = compare_masks(masks(count), masks(8), places)
    assert check.result == "fail"
    assert check.wording == f"{count} calls, the recipe's model has 8"
    assert compare_masks(masks(count), masks(8)).result == "unclear"
    assert compare_masks(masks(count), masks(7), places).result in ("unclear", "pass")
    assert compare_masks(masks(8), masks(8), places).result == "pass"


def test_how_often_other_models_drop_is_not_known() -> None:
    assert places_of_dropout(recipe(model=MODEL.replace("0.1", "0.0"))) is None
    text = recipe_of(version="2", precision=HALF, model=MODEL, activation_checkpointing="true")
    assert places_of_dropout(text) is None


@pytest.mark.parametrize(
    ("precision", "computed", "result"),
    [
        ("{mode: mixed, ops: {matmul: float32}}", None, "pass"),
        ("{mode: mixed, ops: {matmul: float32}}", "float16", "fail"),
        ("{mode: mixed, ops: {matmul: float32_stored_half}}", None, "not tested"),
        ("{mode: full, ops: {matmul: float32}}", "float16", "pass"),
        ("{mode: full, ops: {matmul: float32}}", None, "fail"),
        ("{mode: full, ops: {matmul: float32_stored_half}}", "float16", "pass"),
    ],
)
def test_gradients_of_float32_products_are_as_their_weights(
    precision: str, computed: Dtype | None, result: str
) -> None:
    """A dense layer hands over the gradient of a half weight in half, whatever it computed in."""
    of = recipe(precision.replace("mode", "compute_dtype: float16, mode"))
    seen = with_gradients(record(recipe_in(HALF)), computed)
    checks = {check.name: check for check in check_dtypes(of, seen, emulated=True)}
    assert checks["gradient grid"].result == result, checks["gradient grid"]


def test_sums_of_a_gradient_of_its_own_are_float32() -> None:
    def backward(name: str, dtype: str) -> dict[str, Sequence[Operation]]:
        operation = Operation(name=name, inputs=(dtype,), output=dtype, count=2)
        return {"reductions": (operation,), "casts": ()}

    (words,) = wrong_gradients(recipe(), backward("sum", "float16"))
    assert words == "sum (reductions) of a gradient of its own, computed in float16, not float32"
    for name, dtype in (("sum", "float32"), ("softmax", "float16")):  # the second is a kernel
        assert not list(wrong_gradients(recipe(), backward(name, dtype)))
    half = recipe("{mode: mixed, compute_dtype: float16, policy: keras}")
    assert not list(wrong_gradients(half, backward("mean", "float16")))
    assert not list(wrong_gradients(recipe("{mode: none}"), backward("mean", "float16")))
