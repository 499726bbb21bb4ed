"""Modules of two frameworks: which is which, where they differ first, what it looks like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crosscast.weights.layout import SAME
from crosscast_parity.inside.module_calls import Calls, settings_of
from crosscast_parity.modules import formulas
from crosscast_parity.modules.alignment import aligned
from crosscast_parity.modules.calls import Call
from crosscast_parity.modules.comparison import Comparison, compare
from crosscast_parity.modules.explain import Named, explained
from crosscast_parity.modules.kinds import group_of
from crosscast_parity.modules.layouts import distance
from crosscast_parity.modules.report import bar
from crosscast_parity.modules.steps import Held, Step, steps_at
from crosscast_parity.weights.model import Part

RNG = np.random.default_rng(18)
X = RNG.normal(size=(2, 3, 8)).astype(np.float32)
IMAGE = RNG.normal(size=(2, 3, 6, 6)).astype(np.float32)


def call(number: int, path: str, x: np.ndarray, y: np.ndarray, **fields: Any) -> Call:
    known: dict[str, Any] = {
        "end": number,
        "count": 0,
        "parent": None,
        "kind": "Linear",
        "base": "Linear",
        "settings": {},
        "gradients": (y,),
        "tensors": frozenset({path} if "relu" not in path else ()),
        "own": frozenset(),
        "leaf": True,
    }
    return Call(number=number, path=path, inputs=(x,), outputs=(y,), **{**known, **fields})


def part(role: str, shape: tuple[int, ...]) -> Part:
    return Part(
        tensor=role,
        suffix="",
        role=role,
        shape=shape,
        layout=SAME,
        full=shape,
        also=(),
        known=True,
        layer="a",
        kind="Linear",
        base="Linear",
        rank=0,
        trainable=True,
        fixed=False,
    )


def chain(*functions: Callable[[np.ndarray], np.ndarray], prefix: str = "") -> list[Call]:
    """Return calls that follow one another; those of a name with `relu` hold nothing."""
    found, x = [], X
    for number, function in enumerate(functions):
        y = function(x)
        found.append(call(number, f"{prefix}{function.__name__}", x, y))
        x = y
    return found


def a(x: np.ndarray) -> np.ndarray:
    return np.asarray(x * 2)


def b(x: np.ndarray) -> np.ndarray:
    return x - 1


def c(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.tanh(x))


def compared(ours: list[Call], theirs: list[Call]) -> Comparison:
    far = distance(ours[-1].outputs[0], theirs[-1].outputs[0])
    return compare(("torch", "paddle"), ours, theirs, outputs=far, weights=far)


def test_the_first_module_that_differs_is_named() -> None:
    def wrong(x: np.ndarray) -> np.ndarray:
        return x - 1.01

    theirs = chain(a, wrong, c)
    theirs[1] = call(1, "b", theirs[1].inputs[0], theirs[1].outputs[0])
    place = compared(chain(a, b, c), theirs).first_output()
    assert place is not None
    assert place.at.pair.a.path == "b"
    assert place.after is not None
    assert place.after.pair.a.path == "a"
    assert place.within is None


def test_code_between_modules_is_named_by_the_module_around_it() -> None:
    ours, theirs = chain(a, b), chain(a, b)
    theirs[1] = call(1, "b", theirs[1].inputs[0] * 1.5, theirs[1].inputs[0] * 1.5 - 1)
    calls = []
    for side in (ours, theirs):
        inner = [
            call(n + 1, m.path, m.inputs[0], m.outputs[0], parent=0) for n, m in enumerate(side)
        ]
        around = call(
            0, "block", X, side[-1].outputs[0], end=9, tensors=frozenset("ab"), leaf=False
        )
        calls.append([*inner, around])
    place = compared(calls[0], calls[1]).first_output()
    assert place is not None
    assert (place.at.pair.a.path, place.within and place.within.path) == ("b", "block")


def test_a_layer_that_includes_its_activation_is_not_accused() -> None:
    def relu(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.maximum(x, 0))

    def wrong(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.tanh(x) * 1.1)

    ours = chain(a, relu, b, c)
    theirs = chain(lambda x: np.maximum(a(x), 0), b, wrong)
    names = ("a", "b", "c")
    theirs = [
        call(n, names[n], found.inputs[0], found.outputs[0]) for n, found in enumerate(theirs)
    ]
    place = compared(ours, theirs).first_output()
    assert place is not None
    assert place.at.pair.a.path == "c"


@pytest.mark.parametrize("module", [True, False], ids=["module", "function"])
@pytest.mark.parametrize("inside", [0, 1], ids=["of the first", "of the other"])
def test_an_activation_within_a_layer_is_compared_with_one_behind_it(
    module: bool, inside: int
) -> None:
    rng = np.random.default_rng(5)
    kernel, bias = rng.normal(size=(8, 8), scale=0.2), rng.normal(size=8, scale=0.2)
    linear = (X @ kernel.T + bias).astype(np.float32)
    erf, tanh = (f(linear).astype(np.float32) for f in (formulas.gelu_erf, formulas.gelu_tanh))
    apart = [call(0, "a", X, linear), call(1, "relu", linear, erf, kind="Own", base="Module")]
    apart = [*(apart if module else apart[:1]), call(2, "b", erf, erf - 1)]
    whole = [call(0, "a", X, tanh), call(2, "b", tanh, tanh - 1)]
    sides = [whole, apart] if inside == 0 else [apart, whole]
    comparison = compared(*sides)
    place = comparison.first_output()
    assert place is not None
    assert place.at.same_inputs
    assert place.at.outputs < 1e-2
    held = Held({"a": part("kernel", (8, 8)), "c": part("bias", (8,))}, {"a": kernel, "c": bias})
    for side in sides:
        side[0] = replace(side[0], tensors=frozenset("ac"))
    comparison = compared(*sides)
    place = comparison.first_output()
    assert place is not None
    named = explained(*steps_at(comparison, place, held))
    texts = ("GELU by tanh", "GELU by erf") if inside == 0 else ("GELU by erf", "GELU by tanh")
    assert named == Named("GELU by tanh or erf", *texts)


def test_equal_outputs_accuse_nothing_inside() -> None:
    ours = chain(a, b)
    theirs = [call(0, "a", X, X), call(1, "b", X, ours[1].outputs[0])]
    assert compared(ours, theirs).first_output() is None


def test_modules_without_tensors_are_paired_by_what_runs_before() -> None:
    def relu(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.maximum(x, 0))

    pairs = aligned(chain(a, relu, b, relu), chain(a, b, relu))
    assert [(pair.a.number, pair.b.number) for pair in pairs] == [(0, 0), (2, 1), (3, 2)]


def test_a_stack_of_layers_is_paired_with_the_last_of_single_ones() -> None:
    y = RNG.normal(size=(2, 3, 4)).astype(np.float32)
    ours = [call(0, "lstm", X, y, base="LSTM", tensors=frozenset({"0", "1"}))]
    theirs = [
        call(0, "lstm_0", X, y + 1, base="LSTM", tensors=frozenset({"0"})),
        call(1, "lstm_1", y + 1, y[:, -1], base="LSTM", tensors=frozenset({"1"})),
    ]
    (pair,) = aligned(ours, theirs)
    assert (pair.first_of_b.path, pair.b.path) == ("lstm_0", "lstm_1")
    assert distance(pair.a.outputs[0], pair.b.outputs[0]) == 0


def test_channels_may_be_last() -> None:
    assert distance(IMAGE, IMAGE.transpose(0, 2, 3, 1)) == 0
    assert distance(IMAGE.transpose(0, 2, 3, 1), IMAGE) == 0
    assert distance(IMAGE, IMAGE[:1]) == float("inf")
    assert distance(X, X * np.float32(np.nan)) == float("inf")


@pytest.mark.parametrize(
    ("base", "word"),
    [
        ("BatchNorm2d", "batch norm"),
        ("BatchNormalization", "batch norm"),
        ("_BatchNormBase", "batch norm"),
        ("AveragePooling2D", "average pool"),
        ("GlobalAveragePooling2D", "global average pool"),
        ("AdaptiveAvgPool2d", "global average pool"),
        ("UpSampling2D", "resize"),
        ("ZeroPadding2D", "padding"),
        ("Conv2DTranspose", "convolution"),
        ("Module", "mine"),
    ],
)
def test_classes_of_all_frameworks_have_one_word(base: str, word: str) -> None:
    assert group_of(base, "Mine") == word


def step(group: str, x: np.ndarray, y: np.ndarray, **fields: Any) -> Step:
    given: dict[str, Any] = {"tensors": {}, "settings": {}, **fields}
    return Step(group=group, x=(x,), y=y.astype(np.float32), **given)


def both(group: str, x: np.ndarray, ours: Any, theirs: Any, **fields: Any) -> Named | None:
    return explained(step(group, x, ours, **fields), step(group, x, theirs, **fields))


def test_padding_of_a_strided_convolution() -> None:
    kernel = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)
    ours = formulas.convolution(IMAGE, kernel, (2, 2), [(1, 1), (1, 1)], 1)
    theirs = formulas.convolution(IMAGE, kernel, (2, 2), [(0, 1), (0, 1)], 1)
    fields: Mapping[str, Any] = {"tensors": {"kernel": (kernel,)}, "settings": {"stride": [2, 2]}}
    named = both("convolution", IMAGE, ours, theirs, **fields)
    assert named == Named("padding of a convolution", "all sides", "more at the end (`same`)")
    padded = np.pad(IMAGE, ((0, 0), (0, 0), (0, 1), (0, 1)))
    first = step("convolution", IMAGE, ours, **fields)
    assert explained(first, step("convolution", padded, theirs, **fields)) == named


@pytest.mark.parametrize("eps", [1e-3, 1e-6])
def test_epsilon_is_read_from_what_was_recorded(eps: float) -> None:
    x = X / 10
    ours, theirs = (
        formulas.normalized(x, x.mean(-1, keepdims=True), x.var(-1, keepdims=True), value)
        for value in (1e-5, eps)
    )
    tensors = {"scale": (np.ones(8, np.float32),), "bias": (np.zeros(8, np.float32),)}
    named = both("layer norm", x, ours, theirs, tensors=tensors)
    assert named == Named("epsilon of LayerNorm", "1e-05", f"{eps:g}")


def test_epsilon_that_rounding_hides_is_no_difference() -> None:
    x = X * 1000
    y = formulas.normalized(x, x.mean(-1, keepdims=True), x.var(-1, keepdims=True), 1e-6)
    tensors = {"scale": (np.ones(8, np.float32),), "bias": (np.zeros(8, np.float32),)}
    assert both("layer norm", x, y, y * np.float32(1 + 1e-7), tensors=tensors) is None


def test_pooling_and_resizing() -> None:
    pads = [(1, 1), (1, 1)]
    ours, theirs = (
        formulas.pooled(IMAGE, (3, 3), (1, 1), pads, kind=kind) for kind in ("all", "real")
    )
    settings = {"kernel_size": 3, "stride": 1, "padding": 1}
    named = both("average pool", IMAGE, ours, theirs, settings=settings)
    assert named == Named("pooling that counts padding", "counts padding", "does not count padding")
    ours, theirs = (formulas.resized(IMAGE, (12, 12), r) for r in ("corners", "nearest"))
    named = both("resize", IMAGE, ours, theirs)
    assert named == Named("resizing", "bilinear, aligned corners", "nearest")


def test_attention_and_activations_between_modules() -> None:
    packed = RNG.normal(size=(2, 5, 24)).astype(np.float32)
    heads = [p.reshape(2, 5, 2, 4).transpose(0, 2, 1, 3) for p in np.split(packed, 3, -1)]

    def mixed(scale: float, mask: str) -> np.ndarray:
        found = formulas.attention(heads[0], heads[1], heads[2], scale=scale, mask=mask)
        return found.transpose(0, 2, 1, 3).reshape(2, 5, 8)

    named = both("", packed, mixed(0.5, "causal"), mixed(1.0, "causal"))
    assert named is not None
    assert named.kind == "scale of attention"
    named = both("", packed, mixed(0.5, "causal"), mixed(0.5, "none"))
    assert named is not None
    assert named.kind == "mask of attention"
    named = both("", X, formulas.gelu_erf(X), formulas.gelu_tanh(X))
    assert named == Named("GELU by tanh or erf", "GELU by erf", "GELU by tanh")
    assert both("", X, X**3, X**2) is None


@pytest.mark.parametrize("size", [1, 2])
def test_a_kernel_may_be_larger_than_its_image(size: int) -> None:
    kernel = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)
    x = IMAGE[:, :, :size, :size]
    y = formulas.convolution(x, kernel, (1, 1), [(1, 1), (1, 1)], 1)
    tensors = {"kernel": (kernel,)}
    assert both("convolution", x, y, y * 2, tensors=tensors) is None
    settings = {"kernel_size": 3, "stride": 1, "padding": 1}
    for group in ("average pool", "max pool"):
        assert both(group, x, x, x * 2, settings=settings) is None


def test_a_transposed_convolution_is_not_explained() -> None:
    kernel, bias = np.ones((8, 4, 3, 3), np.float32), np.ones(4, np.float32)
    x, y = np.ones((2, 8, 6, 6), np.float32), np.ones((2, 4, 8, 8), np.float32)
    tensors = {"kernel": (kernel,), "bias": (bias,)}
    assert both("convolution", x, y, y * 2, tensors=tensors) is None


ODD: dict[str, tuple[str, tuple[int, ...], dict[str, tuple[int, ...]]]] = {
    "a convolution of one image": ("convolution", (3, 6, 6), {"kernel": (4, 3, 3, 3)}),
    "an LSTM in both directions": ("lstm", (2, 4, 3), {"kernel_ih": (8, 3), "kernel_hh": (8, 2)}),
    "a BatchNorm within others": ("mine", (2, 3), {"mean": (3,), "variance": (3,), "scale": (5,)}),
    "a LayerNorm with a bias beside it": ("mine", (2, 3), {"scale": (3,), "bias": (5,)}),
}


@pytest.mark.parametrize("odd", ODD)
def test_what_fits_no_formula_is_not_explained(odd: str) -> None:
    group, size, shapes = ODD[odd]
    each = 2 if "directions" in odd else 1
    tensors = {role: (np.ones(shape),) * each for role, shape in shapes.items()}
    x = np.ones(size, np.float32)
    assert both(group, x, x, x * 2, tensors=tensors) is None


def test_a_module_that_gets_no_numbers_is_not_explained() -> None:
    tensors = {"kernel_ih": (np.ones((8, 3)),), "kernel_hh": (np.ones((8, 2)),)}
    a, b = (Step(group="lstm", x=(), y=X * n, tensors=tensors, settings={}) for n in (1, 2))
    assert explained(a, b) is None


def test_a_single_number_between_modules_is_not_explained() -> None:
    one = np.float32(3.0) * np.ones((), np.float32)
    assert both("", one, one**2, one**3) is None


def test_order_of_gates() -> None:
    x = RNG.normal(size=(2, 4, 3))
    ih, hh = RNG.normal(size=(8, 3)), RNG.normal(size=(8, 2))
    tensors = {"kernel_ih": (ih,), "kernel_hh": (hh,)}
    ours, theirs = (formulas.lstm(x, ih, hh, np.zeros(8), g) for g in ((0, 1, 2, 3), (0, 1, 3, 2)))
    named = both("lstm", x, ours, theirs, tensors=tensors)
    assert named == Named("order of gates", "i, f, c, o", "i, f, o, c")


class Numbers:
    """Arrays as a framework."""

    def is_output(self, value: Any) -> bool:
        return isinstance(value, np.ndarray)

    def array(self, value: Any) -> np.ndarray:
        return np.array(value)

    def version(self, value: Any) -> int:
        return int(value.flat[0] > 100)

    def base(self, layer: Any) -> str:
        return type(layer).__name__


class Layer:
    """A layer."""

    eps, _stride, padding, name = 1e-5, (2, 2), "same", object()


def test_calls_keep_order_values_and_settings() -> None:
    calls = Calls(Numbers(), values=True)
    x, changed = np.ones(2), np.ones(2)
    outer = calls.enter("outer", Layer())
    inner = calls.enter("outer.inner", Layer())
    calls.leave(inner, Layer(), ((x,), {"y": x}), {"out": changed})
    calls.leave(outer, Layer(), (x,), x)
    changed += 200
    assert calls.order == ["outer", "outer.inner"]
    told = calls.told()
    assert [(c["path"], c["parent"], c["end"]) for c in told] == [
        ("outer", None, 1),
        ("outer.inner", 0, 0),
    ]
    arrays = calls.arrays([np.full(2, 3.0), np.full(2, 4.0)])
    assert set(arrays) == {"in/1/0", "in/1/1", "out/1/0", "in/0/0", "out/0/0", "back/0/0"}
    assert arrays["out/1/0"].tolist() == [1, 1]  # before it was changed in place
    assert settings_of(Layer()) == {"eps": 1e-5, "stride": [2, 2], "padding": "same"}


def test_a_bar_has_a_block_for_each_power_of_ten() -> None:
    assert [len(bar(error)) for error in (0.0, 1e-9, 2e-8, 1.5e-3, 5.0, float("inf"))] == [
        0,
        0,
        1,
        6,
        9,
        10,
    ]
