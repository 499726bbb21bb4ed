"""Known differences are told by computation, and what looks like one is not called so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from crosscast_parity.modules import formulas
from crosscast_parity.modules.alignment import aligned
from crosscast_parity.modules.calls import Call
from crosscast_parity.modules.comparison import compare
from crosscast_parity.modules.explain import Named, explained
from crosscast_parity.modules.layouts import other_sizes, unpadded
from crosscast_parity.modules.steps import Step

RNG = np.random.default_rng(47)
IMAGE = RNG.normal(size=(2, 4, 9, 9)).astype(np.float32)
KERNEL = RNG.normal(size=(6, 4, 3, 3)).astype(np.float32)
TOKENS = RNG.normal(size=(2, 5, 8)).astype(np.float32)
OTHER = RNG.normal(size=(2, 5, 8)).astype(np.float32)


def step(group: str, y: np.ndarray, *x: np.ndarray, **fields: Any) -> Step:
    given: dict[str, Any] = {"tensors": {}, "settings": {}, **fields}
    return Step(group=group, x=x, y=np.asarray(y, np.float32), **given)


def named_of(sides: Iterable[Step]) -> Named | None:
    """Return what explains the difference of two steps."""
    ours, theirs = sides
    return explained(ours, theirs)


def convolved(stride: int, pad: int, dilation: int = 1) -> Step:
    y = formulas.convolution(IMAGE, KERNEL, [stride] * 2, [(pad, pad)] * 2, 1, [dilation] * 2)
    return step("convolution", y, IMAGE, tensors={"kernel": (KERNEL,)})


@pytest.mark.parametrize(
    ("ours", "theirs", "named"),
    [
        ((1, 1), (2, 1), ("stride of a convolution", "stride 1x1", "stride 2x2")),
        ((1, 1), (1, 2, 2), ("dilation of a convolution", "dilation 1x1", "dilation 2x2")),
        ((1, 2), (1, 2, 2), ("dilation of a convolution", "dilation 1x1", "dilation 2x2")),
        ((2, 1), (2, 0), ("padding of a convolution", "all sides", "none")),
    ],
)
def test_a_convolution_of_another_shape_is_named_by_what_explains_it(
    ours: tuple[int, ...], theirs: tuple[int, ...], named: tuple[str, str, str]
) -> None:
    assert explained(convolved(*ours), convolved(*theirs)) == Named(*named)


def test_a_convolution_with_another_kernel_is_not_called_a_stride() -> None:
    other = convolved(2, 1)
    wrong = step("convolution", other.y * 1.5, IMAGE, tensors=other.tensors)
    assert explained(convolved(1, 1), wrong) is None


def test_a_series_is_convolved_as_an_image_of_one_row() -> None:
    x, kernel = IMAGE[:, :, 0], KERNEL[:, :, 0]

    def made(stride: int) -> Step:
        image, weights = x[:, :, None], kernel[:, :, None]
        y = formulas.convolution(image, weights, [1, stride], [(0, 0), (1, 1)], 1)[:, :, 0]
        return step("convolution", y, x, tensors={"kernel": (kernel,)})

    named = explained(made(1), made(2))
    assert named == Named("stride of a convolution", "stride 1x1", "stride 1x2")


@pytest.mark.parametrize("kind", ["max", "all", "real"])
def test_a_size_that_is_rounded_up_is_told_from_padding(kind: str) -> None:
    group, x = ("max pool" if kind == "max" else "average pool"), IMAGE[:, :, :8, :8]
    settings = {"kernel_size": 3, "stride": 2, "padding": 0}

    def made(more: int) -> Step:
        y = formulas.pooled(x, (3, 3), (2, 2), [(0, 0)] * 2, kind=kind, beyond=(more, more))
        return step(group, y, x, settings=settings)

    named = explained(made(0), made(1))
    words = ("size rounded down", "size rounded up")
    assert named == Named("ceil mode of a pooling", *words)


def test_a_pooling_without_padding_is_not_called_the_same_size() -> None:
    x = IMAGE[:, :, :8, :8]

    def made(size: int, pad: int) -> Step:
        y = formulas.pooled(x, (size, size), (2, 2), [(pad, pad)] * 2, kind="max")
        settings = {"kernel_size": size, "stride": 2, "padding": pad}
        return step("max pool", y, x, settings=settings)

    named = explained(made(2, 0), made(3, 1))
    assert named is not None
    assert (named.ours, named.theirs) == ("window 2x2, none", "window 3x3, all sides")


def test_the_last_windows_of_a_pooling_do_not_count_what_is_beyond() -> None:
    x = np.ones((1, 1, 4, 4), np.float32)
    y = formulas.pooled(x, (3, 3), (2, 2), [(0, 0)] * 2, kind="all", beyond=(1, 1))
    assert np.array_equal(y, np.ones((1, 1, 2, 2)))


def group_norm(groups: int, eps: float) -> Step:
    parts = IMAGE.astype(np.float64).reshape(2, groups, -1) / 30
    y = formulas.normalized(parts, parts.mean(-1, keepdims=True), parts.var(-1, keepdims=True), eps)
    tensors = {"scale": (np.ones(4, np.float32),), "bias": (np.zeros(4, np.float32),)}
    return step("group norm", y.reshape(IMAGE.shape), IMAGE / 30, tensors=tensors)


def test_groups_and_epsilon_of_group_norm() -> None:
    named = explained(group_norm(2, 1e-5), group_norm(4, 1e-5))
    assert named == Named("groups of GroupNorm", "2 groups", "4 groups")
    named = explained(group_norm(2, 1e-5), group_norm(2, 1e-3))
    assert named == Named("epsilon of GroupNorm", "1e-05", "0.001")
    assert explained(group_norm(2, 1e-5), group_norm(2, 1e-5)) is None


def test_epsilon_of_rms_norm_is_not_that_of_layer_norm() -> None:
    x = TOKENS / 30 + 0.05
    square = (x.astype(np.float64) ** 2).mean(-1, keepdims=True)
    sides = [
        step("rms norm", x / np.sqrt(square + eps), x, tensors={"scale": (np.ones(8),)})
        for eps in (1e-6, 1e-3)
    ]
    assert named_of(sides) == Named("epsilon of RMSNorm", "1e-06", "0.001")


def test_hard_and_soft_gates() -> None:
    soft, hard = TOKENS * formulas.sigmoid(TOKENS), TOKENS * np.clip(TOKENS / 6 + 0.5, 0, 1)
    named = explained(step("", soft, TOKENS), step("", hard, TOKENS))
    assert named == Named("activation", "SiLU", "hard SiLU")
    slopes = [OTHER * np.clip(TOKENS * slope + 0.5, 0, 1) for slope in (1 / 6, 0.2)]
    named = named_of(step("", y, TOKENS, OTHER) for y in slopes)
    words = ("hard sigmoid of slope 1/6", "hard sigmoid of slope 0.2")
    assert named == Named("activation of a gate", *words)


def test_a_gate_with_an_unknown_slope_is_not_called_one() -> None:
    slopes = [OTHER * np.clip(TOKENS * slope + 0.5, 0, 1) for slope in (1 / 6, 0.23)]
    assert named_of(step("", y, TOKENS, OTHER) for y in slopes) is None


def test_positions_from_one() -> None:
    table = RNG.normal(size=(7, 8)).astype(np.float32)
    sides = [step("embedding", table[n : n + 5], tensors={"embedding": (table,)}) for n in (0, 1)]
    assert named_of(sides) == Named("first position", "positions from 0", "positions from 1")
    mixed = step("embedding", table[[1, 0, 2, 3, 4]], tensors={"embedding": (table,)})
    assert explained(sides[0], mixed) is None


def test_any_factor_is_computed_and_a_shift_is_none() -> None:
    named = explained(step("", TOKENS, TOKENS), step("", TOKENS / 1.7, TOKENS))
    assert named == Named("a factor", "times 1", "times 0.5882")
    assert explained(step("", TOKENS, TOKENS), step("", TOKENS / 1.7 + 0.1, TOKENS)) is None


def test_a_factor_in_a_sum() -> None:
    sides = [step("", TOKENS * factor + OTHER, TOKENS, OTHER) for factor in (1.0, 0.5)]
    assert named_of(sides) == Named("a factor in a sum", "times 1 and 1", "times 0.5 and 1")
    third = TOKENS + OTHER * TOKENS
    assert explained(sides[0], step("", third, TOKENS, OTHER)) is None


def test_any_scale_of_attention_is_computed() -> None:
    packed = RNG.normal(size=(2, 5, 24)).astype(np.float32)
    query, key, value = (part[:, None] for part in np.split(packed.astype(np.float64), 3, -1))
    usual, other = (
        formulas.attention(query, key, value, scale=scale, mask="none")[:, 0]
        for scale in (8**-0.5, 0.47)
    )
    named = explained(step("", usual, packed), step("", other, packed))
    assert named == Named("scale of attention", "scale 1/sqrt(head)", "scale 0.47")
    assert explained(step("", usual, packed), step("", other * 1.1, packed)) is None


def call(number: int, path: str, x: np.ndarray, y: np.ndarray, base: str = "Conv2d") -> Call:
    return Call(
        number=number,
        end=number,
        path=path,
        count=0,
        parent=None,
        kind=base,
        base=base,
        settings={},
        inputs=(x,),
        outputs=(y,),
        gradients=(None,),
        tensors=frozenset({path}),
        own=frozenset(),
        leaf=True,
    )


def test_another_shape_is_the_first_difference() -> None:
    small = IMAGE[:, :, ::2, ::2]
    ours = [call(0, "a", IMAGE, IMAGE), call(1, "b", IMAGE, IMAGE.mean((2, 3)), "Linear")]
    theirs = [call(0, "a", IMAGE, small), call(1, "b", small, small.mean((2, 3)), "Linear")]
    found = compare(("torch", "paddle"), ours, theirs, outputs=1.0, weights=1.0)
    place = found.first_output()
    assert place is not None
    assert place.at.pair.a.path == "a"
    assert place.at.pair.other_sizes


def test_a_larger_output_that_the_code_cuts_is_no_difference() -> None:
    cut = IMAGE[:, :, 1:-1, 1:-1]
    ours = [call(0, "a", IMAGE, IMAGE), call(1, "b", cut, cut)]
    theirs = [call(0, "a", IMAGE, cut), call(1, "b", cut, cut * 2)]
    found = compare(("torch", "paddle"), ours, theirs, outputs=1.0, weights=1.0)
    place = found.first_output()
    assert place is not None
    assert place.at.pair.a.path == "b"


def test_a_layer_of_every_token_may_get_one() -> None:
    """Code that takes the last token before a layer or after it is the same function."""
    ours = [call(0, "a", TOKENS, TOKENS, "Linear")]
    theirs = [call(0, "a", TOKENS[:, -1:], TOKENS[:, -1:], "Dense")]
    assert aligned(ours, theirs) == []


def test_images_may_have_other_sizes_but_not_only_other_layouts() -> None:
    assert not other_sizes(IMAGE, IMAGE.transpose(0, 2, 3, 1))
    assert other_sizes(IMAGE, IMAGE[:, :, 1:])
    assert not other_sizes(IMAGE, IMAGE.mean((2, 3)))
    padded = np.pad(IMAGE, ((0, 0), (0, 0), (1, 2), (0, 1)))
    assert np.array_equal(unpadded(padded), IMAGE)
