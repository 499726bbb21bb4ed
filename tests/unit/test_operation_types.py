"""L0d of custom models: types of operations against those of the reference, call by call."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.checks.check import Check
from crosscast_parity.checks.table import find_kind
from crosscast_parity.levels.operation_types import compare_operations
from crosscast_parity.recordings.type_manifest import Manifest, OrderedCall, read_manifest

H, F = "float16", "float32"
WIDE, NARROW = 64, 8


def call(
    name: str,
    given: str,
    output: str,
    size: int | None = WIDE,
    place: str = "",
    *,
    whole: bool = True,
    narrowed: bool = False,
    usual: bool = True,
) -> OrderedCall:
    """Return a call; `given`: the types of its inputs, apart by a space."""
    inputs = tuple(sorted(given.split()))
    return OrderedCall(
        name=name,
        inputs=inputs,
        output=output,
        size=size,
        whole=whole,
        narrowed=narrowed,
        usual=usual,
        plain=output,
        rounded=False,
        lookups=False,
        learned=True,
        place=place,
    )


def manifest(*order: OrderedCall, closed: tuple[str, ...] = ()) -> Manifest:
    return Manifest(autocast=H, operations={}, order=order, closed=closed)


LINEAR = call("linear", F, H, place="block.dense")
STREAM = call("add", f"{F} {H}", F, place="block")
BLOCK = (
    call("layer_norm", F, F, place="block.norm"),
    LINEAR,
    call("gelu", H, H, place="block"),
    LINEAR,
    STREAM,
)


def changed(number: int, other: OrderedCall) -> Manifest:
    order = list(BLOCK)
    order[number] = other
    return manifest(*order)


def judged(ours: Manifest | None, reference: Manifest | None) -> Check:
    """Return the first check; every check has a row in the table."""
    checks = compare_operations(ours, reference)
    assert all(find_kind(check.level, check.name) for check in checks)
    return checks[0]


WRONG = {
    "a residual sum in half": (
        changed(4, call("add", H, H, place="gpt/block")),
        "sum of gpt/block in float16, in the reference (block) in float32",
    ),
    "a normalization in half": (
        changed(0, call("layer_norm", H, H, place="block.norm")),
        "layer_norm of block.norm in float16, in the reference in float32",
    ),
    "a normalization of rounded numbers": (
        changed(0, call("layer_norm", f"{F} {H}", F, place="block.norm", narrowed=True)),
        "layer_norm of block.norm in float32 of what was cast to half, in the reference in float32",
    ),
    "an activation in float32": (
        changed(2, call("gelu", F, F, place="block")),
        "gelu of block in float32, in the reference in float16",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_operation_in_another_type_is_found_with_its_place(name: str) -> None:
    ours, words = WRONG[name]
    check = judged(ours, manifest(*BLOCK))
    assert (check.result, check.wording) == ("fail", words)


def test_the_same_types_pass() -> None:
    check = judged(manifest(*BLOCK), manifest(*BLOCK))
    assert check.result == "pass"
    assert check.wording == "3 operations in the types of the reference"


MEANS = {
    "of another autocast": (call("mean", H, F, NARROW), call("mean", H, H, NARROW)),
    "with what follows": (
        call("mean", H, F, NARROW),
        call("mean", H, H, NARROW),
        call("add", F, F, NARROW),
        call("add", H, H, NARROW),
    ),
}


@pytest.mark.parametrize("name", MEANS)
def test_what_an_autocast_does_by_itself_is_told_and_not_judged(name: str) -> None:
    ours, theirs = MEANS[name][::2], MEANS[name][1::2]
    check = judged(manifest(*BLOCK, *ours), manifest(*BLOCK, *theirs))
    assert check.result == "pass"
    assert "by autocast or policy: mean in float32, in the reference in float16" in check.wording


def test_what_comes_after_the_next_product_is_judged_again() -> None:
    ours = (call("mean", H, F), LINEAR, call("add", F, F))
    theirs = (call("mean", H, H), LINEAR, call("add", H, H))
    check = judged(manifest(*ours), manifest(*theirs))
    assert (check.result, check.wording[:3]) == ("fail", "sum")


@pytest.mark.parametrize("who", ["ours", "the reference"])
def test_an_autocast_that_the_script_sets_or_leaves_is_no_excuse(who: str) -> None:
    for name in ("softmax", "layer_norm"):
        ours, theirs = call(name, H, H), call(name, H, F)
        assert judged(manifest(ours), manifest(theirs)).result == "pass"
        ours = call(name, H, H, usual=who != "ours")
        theirs = call(name, H, F, usual=who == "ours")
        assert judged(manifest(ours), manifest(theirs)).result == "fail"


def test_biases_and_casts_may_have_any_type() -> None:
    bias = call("add", F, F, whole=False)
    cast = call("cast", F, H)
    assert judged(manifest(*BLOCK, bias, cast), manifest(*BLOCK)).result == "pass"


@pytest.mark.parametrize("types", [(H, F), (H, H)])
def test_another_number_of_sums_is_not_tested_unless_all_have_one_type(
    types: tuple[str, str],
) -> None:
    ours = manifest(*(call("add", H, dtype) for dtype in types))
    checks = compare_operations(ours, manifest(call("add", H, H)))
    words = ["cannot be told apart: sum (2 here, 1 in the reference)"] if F in types else []
    assert [check.wording for check in checks[1:]] == words
    assert checks[0].result == ("not tested" if words else "pass")


def test_sizes_that_are_not_known_are_not_tested() -> None:
    ours, theirs = (manifest(call("gelu", dtype, dtype, None)) for dtype in (H, F))
    checks = compare_operations(ours, theirs)
    assert [check.result for check in checks] == ["not tested"] * 2
    assert "gelu (1 here, 1 in the reference)" in checks[1].wording


def test_what_has_no_counterpart_is_not_tested() -> None:
    product = call("matmul", H, H)
    ours = manifest(product, call("silu", H, H))
    theirs = manifest(product, call("sigmoid", F, F), call("mul", F, F))
    checks = compare_operations(ours, theirs)
    assert [check.result for check in checks] == ["not tested"] * 2
    assert checks[1].wording == "without counterpart: silu (1 here, 0 in the reference)"
    checks = compare_operations(manifest(*BLOCK, *ours.order), manifest(*BLOCK, *theirs.order))
    assert [check.result for check in checks] == ["pass", "not tested"]


def test_functions_that_hide_operations_are_named() -> None:
    hidden = manifest(*BLOCK, closed=("multi_head_attention_forward",))
    checks = compare_operations(manifest(*BLOCK), hidden)
    assert checks[1].result == "not tested"
    assert "multi_head_attention_forward" in checks[1].wording


@pytest.mark.parametrize("ours", [None, manifest()])
def test_without_a_recording_nothing_is_tested(ours: Manifest | None) -> None:
    assert judged(ours, manifest(*BLOCK)).result == "not tested"
    assert judged(manifest(*BLOCK), ours).result == "not tested"


BROKEN = ('{"name": 1}', '{"name": "add", "in": [1], "out": "float32"}', "[]")


@pytest.mark.parametrize("entry", BROKEN)
def test_a_broken_order_is_refused(entry: str, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(f'{{"format": 1, "autocast": null, "operations": {{}}, "order": [{entry}]}}')
    with pytest.raises(DiagnosticError, match="CC723"):
        read_manifest(path)
