"""Which tensor is which: by names, structure and order, and by gradients where these mislead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.weights.document import Entry, Place, WeightsMap
from crosscast.weights.layout import Layout
from crosscast_parity.inside.tensor_rows import Part as TensorPart
from crosscast_parity.weights.assembly import assemble, unmatched
from crosscast_parity.weights.drawing import draw_alike
from crosscast_parity.weights.fingerprints import by_gradients, merged_shapes
from crosscast_parity.weights.layouts import flattened_kernels, layouts_for
from crosscast_parity.weights.matching import Pairing, keys_of, propose
from crosscast_parity.weights.model import Model, Part, Ranks, model_of
from crosscast_parity.weights.names import words
from crosscast_parity.weights.packed import cut_alike
from crosscast_parity.weights.proof import drawn_weights, output_distance, prove
from crosscast_parity.weights.search import filled
from crosscast_parity.weights.workers import Computed, turned_outputs

TURNED = Layout(axes=(1, 0))


def part(
    tensor: str,
    shape: tuple[int, ...],
    role: str = "kernel",
    layout: Layout = Layout(),  # noqa: B008
    *,
    known: bool = True,
) -> Part:
    full = shape if layout.axes is None else tuple(np.zeros(shape).transpose(layout.axes).shape)
    return Part(
        tensor=tensor,
        suffix="",
        role=role,
        shape=shape,
        layout=layout,
        full=full,
        also=(),
        known=known,
        layer=tensor.rpartition("/" if "/" in tensor else ".")[0],
        kind="",
        base="",
        rank=0,
        trainable=True,
        fixed=False,
    )


def model(framework: str, parts: Sequence[Part]) -> Model:
    ranked = tuple(replace(found, rank=rank) for rank, found in enumerate(parts))
    shapes = {found.tensor: found.full for found in parts}
    return Model(
        framework=framework, parts=ranked, counters=(), shapes=shapes, outputs=((1,),), drawn={}
    )


def pairs(pairing: Pairing) -> dict[str, str]:
    return {name: match.b.name for name, match in pairing.matches.items()}


NAMES = {
    "encoder.layers.0.q_proj": "net/encoder/layer_0/query",
    "fc1": "net/dense1",
    "token_embed": "net/tok_emb",
    "blocks.3.attn.k": "blocks_3/attention/key_projection",
    "layernorm": "ln",
}


@pytest.mark.parametrize(("ours", "theirs"), NAMES.items(), ids=NAMES)
def test_words_of_names_that_mean_the_same(ours: str, theirs: str) -> None:
    assert words(ours) == tuple(word for word in words(theirs) if word != "net")


OTHERS = [
    ("layers.1.q", "layers.11.q"),
    ("encoder.0", "decoder.0"),
    ("norm1", "norm2"),
    ("attn.q", "attn.k"),
    ("conv", "norm"),
]


@pytest.mark.parametrize(("ours", "theirs"), OTHERS)
def test_words_of_names_that_look_alike(ours: str, theirs: str) -> None:
    assert words(ours) != words(theirs)


LOOK_ALIKES = {
    "scale and bias of a norm": (part("n.weight", (8,), "scale"), part("n/beta", (8,), "bias")),
    "mean and variance": (part("n.m", (8,), "mean"), part("n/v", (8,), "variance")),
    "mean and bias": (part("n.m", (8,), "mean"), part("n/b", (8,), "bias")),
    "a vector and a statistic of no known layer": (
        part("x", (8,), "", known=False),
        part("n/mean", (8,), "mean"),
    ),
    "input and hidden kernel": (part("r.i", (8, 2), "kernel_ih"), part("r/h", (8, 2), "kernel_hh")),
    "input and hidden bias": (part("r.i", (8,), "bias_ih"), part("r/h", (8,), "bias_hh")),
    "another shape": (part("a", (8, 4)), part("b", (4, 8), layout=TURNED)),
    "another size": (part("a", (8, 4)), part("b", (8, 5))),
    "kernels of other sizes": (part("c", (8, 4, 3, 5)), part("d", (8, 4, 5, 3))),
    "in and out of a convolution": (part("c", (8, 4, 3, 3)), part("d", (4, 8, 3, 3))),
    "a kernel and a bias": (part("c", (8, 1)), part("d", (8,), "bias")),
}


@pytest.mark.parametrize(("a", "b"), LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_look_alikes_do_not_match(a: Part, b: Part) -> None:
    assert layouts_for(a, b) == []
    assert propose(model("a", [a]), model("b", [b])).matches == {}


def test_layouts_of_unknown_layers() -> None:
    raw = part("w", (4, 4), "", known=False)
    assert layouts_for(raw, raw) == [Layout(), TURNED]
    assert layouts_for(part("a", (4, 6)), part("w", (6, 4), "", known=False)) == [TURNED]
    known = part("b", (6, 4), layout=TURNED)
    assert layouts_for(part("w", (4, 6), "", known=False), known) == [Layout()]
    image = part("w", (3, 3, 4, 8), "", known=False)
    assert layouts_for(part("c", (8, 4, 3, 3)), image) == [Layout(axes=(3, 2, 0, 1))]
    assert len(layouts_for(part("a", (4, 4)), part("b", (4, 4)))) == 1


def test_names_come_before_order() -> None:
    first = model("a", [part("x.weight", (4, 4)), part("y.weight", (4, 4))])
    second = model("b", [part("y/kernel", (4, 4)), part("x/kernel", (4, 4))])
    assert pairs(propose(first, second)) == {"x.weight": "x/kernel", "y.weight": "y/kernel"}


def test_a_layer_of_which_the_name_is_in_that_of_its_tensor() -> None:
    """`w` stands in `weight` too; cut out there, the rest is another word."""
    first = [part(f"{name}.weight", (4, 4), "", known=False) for name in "vw"]
    second = [part(f"{name}/kernel", (4, 4)) for name in "wv"]
    assert keys_of(first)[::-1] == keys_of(second)


def test_order_decides_without_names() -> None:
    first = model("a", [part(f"{name}.weight", (4, 4)) for name in "xyz"])
    second = model("b", [part(f"d_{n}/kernel", (4, 4)) for n in (7, 9, 8)])
    assert list(pairs(propose(first, second)).values()) == [
        "d_7/kernel",
        "d_9/kernel",
        "d_8/kernel",
    ]


def test_a_layer_that_is_missing_leaves_the_others() -> None:
    shapes = [(3, 2), (4, 3), (4, 4), (4, 4), (5, 4)]
    first = model("a", [part(f"l{n}.w", shape) for n, shape in enumerate(shapes)])
    second = model("b", [part(f"m{n}/k", s) for n, s in enumerate([*shapes[:2], *shapes[3:]])])
    pairing = propose(first, second)
    known = assemble(first, [pairing])
    left = unmatched(known, [first, second])
    assert [found.tensor for found in left["a"]] == ["l3.w"]
    assert left["b"] == []


def test_a_packed_kernel_is_cut_where_the_other_model_has_parts() -> None:
    packed = model("a", [part("qkv.weight", (12, 4)), part("out.weight", (4, 4))])
    apart = model("b", [part(f"{name}/kernel", (4, 4), layout=TURNED) for name in "qkvo"])
    cut, same = cut_alike([packed, apart])
    assert [found.name for found in cut.parts] == [
        *(f"qkv.weight.{k}" for k in range(3)),
        "out.weight",
    ]
    assert same == apart
    assert cut_alike([packed, packed]) == [packed, packed]
    wide = model("b", [part("w/kernel", (12, 4)), part("o/kernel", (4, 4))])
    assert cut_alike([packed, wide]) == [packed, wide]


def test_a_packed_kernel_of_which_a_part_is_missing_is_left_over() -> None:
    packed = model("a", [part("qkv.weight", (12, 4)), part("out.weight", (5, 4))])
    apart = model("b", [part(f"{name}/kernel", (4, 4)) for name in "qk"])
    first, second = cut_alike([packed, apart])
    left = unmatched(assemble(first, [propose(first, second)]), [first, second])
    assert [found.tensor for found in left["a"]] == ["qkv.weight", "out.weight"]
    assert len(left["b"]) == 2


def test_one_term_alone_is_no_sum() -> None:
    first = model("a", [part("bias", (4,), "bias")])
    terms = [
        replace(part("bias", (4,), f"bias_{way}"), suffix=way, layout=Layout(term=(k, 2)))
        for k, way in enumerate(("ih", "hh"))
    ]
    second = model("b", terms)
    known = assemble(first, [propose(first, second)])
    (entry,) = known.entries
    assert entry.places["b"].layout == Layout()
    assert known.left == {"a": (), "b": ()}


def test_counters_in_an_edited_map_keep_their_values() -> None:
    models = [
        replace(model(name, [part("w", (2,))]), counters=("n",), shapes={"w": (2,), "n": ()})
        for name in "ab"
    ]
    entries = [
        Entry(name=name, shape=shape, places={m.framework: Place(name=name) for m in models})
        for name, shape in models[0].shapes.items()
    ]
    known = WeightsMap(frameworks=("a", "b"), entries=tuple(entries))
    assert filled(known, models) == {"n"}
    assert set(drawn_weights(known, models, filled(known, models))) == {"w"}


# gradients


def computed(found: Model, merged: set[tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Return the gradients of a chain of square layers, which runs in the order of the numbers."""
    x = np.linspace(-1, 1, 4)
    weights = {p.tensor: draw_alike(p, merged, {}).astype(np.float64) for p in found.parts}
    order = sorted(found.parts, key=lambda p: p.tensor[-1])
    states = [x]
    for layer in order:
        states.append(np.tanh(weights[layer.tensor] @ states[-1]))
    gradients = {}
    back = np.ones(4)
    for layer, before, after in zip(order[::-1], states[-2::-1], states[::-1], strict=False):
        back = back * (1 - after**2)
        gradient = np.outer(back, before)
        gradients[layer.tensor] = gradient if layer.layout.axes is None else gradient.T
        back = weights[layer.tensor].T @ back
    return gradients


@pytest.mark.parametrize("swap", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_gradients_correct_names_that_mislead(swap: tuple[int, ...]) -> None:
    first = model("a", [part(f"layer.{n}", (4, 4)) for n in range(3)])
    named = [part(f"{n}/{k}", (4, 4), layout=TURNED) for n, k in enumerate(swap)]
    second = model("b", named)
    proposal = propose(first, second)
    found = by_gradients(proposal, computed(first, set()), computed(second, set()), set())
    assert {a[-1] for a in pairs(found)} == {"0", "1", "2"}
    assert all(a[-1] == b[-1] for a, b in pairs(found).items())


def test_gradients_show_that_a_square_kernel_is_transposed() -> None:
    first = model("a", [part("w0", (4, 4), "", known=False), part("w1", (4, 4))])
    second = model("b", [part("w0", (4, 4), "", known=False), part("w1", (4, 4))])
    merged = merged_shapes(first, second)
    ours, theirs = computed(first, merged), computed(second, merged)
    theirs["w0"] = theirs["w0"].T
    found = by_gradients(propose(first, second), ours, theirs, merged)
    assert found.matches["w0"].layout == TURNED
    assert found.matches["w1"].layout == Layout()


def test_tensors_that_might_be_the_same_are_drawn_alike() -> None:
    raw, kernel = part("w", (6, 4), "", known=False), part("a", (4, 6))
    merged = {(4, 6)}
    assert np.array_equal(draw_alike(raw, merged, {}), draw_alike(kernel, merged, {}).T)
    square = draw_alike(part("a", (4, 4)), {(4, 4)}, {})
    assert np.array_equal(square, square.T)
    bias, vector = part("b", (4,), "bias"), part("v", (1, 4), "", known=False)
    vectors = {(4,)}
    assert np.array_equal(
        draw_alike(bias, vectors, {}), draw_alike(vector, vectors, {}).reshape(-1)
    )
    assert (draw_alike(part("v", (9,), "variance"), set(), {}) > 0).all()


def test_kernels_behind_a_flattened_image() -> None:
    parts = [part("c", (8, 3, 3, 3)), part("f", (5, 32)), part("g", (6, 5))]
    assert flattened_kernels([parts]) == {(5, 32): {8}}
    kernel = draw_alike(parts[1], set(), {(5, 32): {8}})
    assert (kernel == kernel[:, :1]).all()
    options = layouts_for(parts[1], part("d/k", (5, 32), layout=TURNED), {(5, 32): {8}})
    assert Layout(expand=(4, 8, 5), axes=(2, 1, 0)) in options


# the order of execution, outputs


def test_layers_that_are_not_called_rank_with_the_one_around_them() -> None:
    ranks = Ranks(["", "b", "a", "b", "a.c"])
    assert [ranks.of(path) for path in ("b", "a", "a.c", "a.d", "a.d.e", "z")] == [1, 2, 4, 2, 2, 0]
    assert Ranks(["net", "net/a"]).of("net/b/c") == 0


class Alike:
    """Processes whose models all compute the same, and have no gradients."""

    def compute(self, weights: Any, models: Sequence[Model]) -> dict[str, Computed]:
        return {found.framework: Computed((np.ones(2),), {}) for found in models}


@pytest.mark.parametrize(("order", "silent"), [(["norm"], set()), ([""], {"norm.mean"})])
def test_statistics_of_layers_that_are_not_called_are_not_proved(
    order: list[str], silent: set[str]
) -> None:
    mean = TensorPart("mean", [2])
    tensor = {
        **{"name": "norm.mean", "also": [], "shape": [2], "dtype": "float32"},
        **{
            "trainable": False,
            "buffer": True,
            "layer": "norm",
            "kind": "",
            "base": "",
            "counts": False,
        },
        **{"parts": [mean._asdict()], "drawn": [0.0, 1.0, 3.0]},
    }
    answer = {"tensors": [tensor], "order": order, "outputs": [[2]]}
    models = first, second = model_of("a", answer), model_of("b", answer)
    known = assemble(first, [propose(first, second)])
    proof = prove(known, models, Alike(), frozenset())  # type: ignore[arg-type]
    assert proof.silent == silent
    assert proof.whole(known)


def test_two_tensors_of_one_name_are_refused() -> None:
    """Layers of Keras that have the same name; a checkpoint could hold only one of them."""
    tensor = {
        "name": "net/d/kernel",
        "also": [],
        "shape": [2],
        "dtype": "int64",
        "layer": "net/d",
        "counts": False,
    }
    answer = {"tensors": [tensor, tensor], "order": [], "outputs": []}
    with pytest.raises(DiagnosticError, match=r"CC761.*'net/d/kernel': name the layers"):
        model_of("b", answer)


def test_outputs_with_channels_last_are_turned() -> None:
    assert turned_outputs([(2, 3, 4, 5)], [(2, 4, 5, 3)]) == [(0, 3, 1, 2)]
    assert turned_outputs([(2, 4, 5, 3)], [(2, 3, 4, 5)]) == [(0, 2, 3, 1)]
    assert turned_outputs([(2, 3), (2, 3, 4)], [(2, 3), (9, 9, 9)]) == [None, None]
    assert turned_outputs([(2, 3)], [(2, 3), (2, 3, 4)]) == [None, None]


def test_distances_of_outputs() -> None:
    ones = np.ones(3, np.float32)
    assert output_distance([ones], [ones]) == 0
    assert output_distance([ones], [ones * 2]) == 0.5
    assert output_distance([ones], [ones[:2]]) == float("inf")
    assert output_distance([ones], [ones * np.nan]) == float("inf")
    assert output_distance([], []) == float("inf")
