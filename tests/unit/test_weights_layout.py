"""Layouts of tensors: to the canonical form and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crosscast.weights.convert import converted, doubled
from crosscast.weights.document import Entry, Place, WeightsMap
from crosscast.weights.layout import SAME, Layout, Misfit, from_canonical, to_canonical
from crosscast.weights.shapes import implied_shape, shape_of

CASES = {
    "as it is": (SAME, (3, 4), (3, 4)),
    "dense": (Layout(axes=(1, 0)), (3, 4), (4, 3)),
    "convolution": (Layout(axes=(3, 2, 0, 1)), (3, 5, 2, 7), (7, 2, 3, 5)),
    "depthwise, two of each": (Layout(axes=(2, 3, 0, 1)), (3, 3, 4, 2), (8, 1, 3, 3)),
    "heads": (Layout(axes=(1, 2, 0)), (6, 2, 3), (6, 6)),
    "heads, out": (Layout(axes=(2, 0, 1)), (2, 3, 6), (6, 6)),
    "gates": (Layout(axes=(1, 0), gates=(1, 0, 2)), (4, 9), (9, 4)),
    "behind a flattened image": (Layout(expand=(6, 4, 5), axes=(2, 1, 0)), (24, 5), (5, 24)),
    "ones": (SAME, (1, 4, 1), (4,)),
}


@pytest.mark.parametrize(("layout", "shape", "canonical"), CASES.values(), ids=CASES)
def test_there_and_back(layout: Layout, shape: tuple[int, ...], canonical: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape)).reshape(shape)
    found = to_canonical(array, layout, canonical)
    assert found.shape == canonical
    assert np.array_equal(from_canonical([(found, layout)], shape), array)


def test_the_kernel_of_a_dense_layer() -> None:
    x, kernel = np.arange(3.0), np.arange(12.0).reshape(3, 4)
    weight = to_canonical(kernel, Layout(axes=(1, 0)), (4, 3))
    assert np.array_equal(weight @ x, x @ kernel)


def test_channels_of_a_flattened_image() -> None:
    image, kernel = np.arange(24.0).reshape(2, 3, 4), np.random.default_rng(0).normal(size=(24, 5))
    layout = Layout(expand=(6, 4, 5), axes=(2, 1, 0))
    weight = to_canonical(kernel, layout, (5, 24))
    channels_first = image.transpose(2, 0, 1).reshape(-1)
    assert np.allclose(weight @ channels_first, image.reshape(-1) @ kernel)


def test_gates_are_blocks() -> None:
    array = np.array([[0], [0], [1], [1], [2], [2]])
    found = to_canonical(array, Layout(gates=(1, 0, 2)), (6, 1))
    assert found.ravel().tolist() == [1, 1, 0, 0, 2, 2]


def test_parts_are_put_together_in_their_order() -> None:
    array = np.arange(12).reshape(2, 6)
    layouts = [Layout(axes=(1, 0), part=(k, 3)) for k in range(3)]
    parts = [(to_canonical(array, layout, (2, 2)), layout) for layout in layouts]
    assert np.array_equal(from_canonical(parts[::-1], (2, 6)), array)


def test_terms_are_added() -> None:
    parts = [(np.full(2, float(k + 1)), Layout(term=(k, 2))) for k in range(2)]
    assert from_canonical(parts, (2,)).tolist() == [3.0, 3.0]


PARTIAL = {
    "a part alone": [Layout(part=(0, 2))],
    "a part twice": [Layout(part=(0, 2)), Layout(part=(0, 2))],
    "another count": [Layout(part=(0, 2)), Layout(part=(1, 3))],
    "a term alone": [Layout(term=(1, 2))],
    "a whole twice": [SAME, SAME],
    "part and whole": [Layout(part=(0, 2)), SAME],
    "other axes": [Layout(part=(0, 2), axes=(0,)), Layout(part=(1, 2))],
}


@pytest.mark.parametrize("layouts", PARTIAL.values(), ids=PARTIAL)
def test_a_tensor_is_made_of_all_its_parts(layouts: list[Layout]) -> None:
    with pytest.raises(Misfit):
        from_canonical([(np.zeros(2), layout) for layout in layouts], (4,))


WRONG = {
    "size": (SAME, (3, 4), (3, 5)),
    "axes": (Layout(axes=(1, 0)), (2, 3, 4), (24,)),
    "expanded": (Layout(expand=(5, 5)), (24,), (24,)),
    "parts": (Layout(part=(0, 2)), (3,), (1,)),
    "gates": (Layout(gates=(1, 0)), (3,), (3,)),
}


@pytest.mark.parametrize(("layout", "shape", "canonical"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit(
    layout: Layout, shape: tuple[int, ...], canonical: tuple[int, ...]
) -> None:
    with pytest.raises(Misfit):
        to_canonical(np.zeros(shape), layout, canonical)


def test_the_shape_in_a_framework_follows() -> None:
    assert implied_shape(Layout(axes=(3, 2, 0, 1)), (7, 2, 3, 5)) == (3, 5, 2, 7)
    assert implied_shape(Layout(axes=(1, 0), part=(0, 3)), (2, 4)) == (4, 6)
    assert implied_shape(Layout(axes=(1, 2, 0)), (6, 6)) is None
    entry = Entry(name="w", shape=(6, 6), places={})
    with pytest.raises(Misfit, match="needs its shape"):
        shape_of([(entry, Place(name="w", layout=Layout(axes=(1, 2, 0))))])


def recurrent() -> WeightsMap:
    """Return a map of a cell with two biases in `a` and one, their sum, in `b`."""
    entries = [
        Entry(
            name=f"bias_{number}",
            shape=(2,),
            places={
                "a": Place(name=f"bias_{number}"),
                "b": Place(name="bias", layout=Layout(term=(number, 2))),
            },
        )
        for number in range(2)
    ]
    tied = Entry(
        name="table",
        shape=(2, 3),
        places={
            "a": Place(name="table", also=("head",)),
            "b": Place(name="kernel", layout=Layout(axes=(1, 0))),
        },
    )
    return WeightsMap(frameworks=("a", "b"), entries=(*entries, tied))


def test_a_double_bias_is_carried_one_way() -> None:
    table = np.arange(6.0).reshape(2, 3)
    arrays = {"bias_0": np.ones(2), "bias_1": np.full(2, 2.0), "table": table, "head": table}
    there = converted(arrays, recurrent(), "a", "b")
    assert there["bias"].tolist() == [3.0, 3.0]
    assert np.array_equal(there["kernel"], table.T)
    back = converted(there, recurrent(), "b", "a")
    assert back["bias_0"].tolist() == [3.0, 3.0]
    assert back["bias_1"].tolist() == [0.0, 0.0]
    assert np.array_equal(back["head"], table)


def test_each_of_two_biases_has_the_gradient_of_their_sum() -> None:
    back = converted({"bias": np.ones(2)}, recurrent(), "b", "a", "gradients")
    assert back["bias_0"].tolist() == back["bias_1"].tolist() == [1.0, 1.0]
    there = converted(back, recurrent(), "a", "b", "gradients")
    assert there["bias"].tolist() == [1.0, 1.0]


def test_two_trained_biases_are_doubled() -> None:
    known = recurrent()
    assert doubled(known) == {"a": set(), "b": {"bias"}}
    second = known.entries[1]
    place = replace(second.places["a"], frozen=True)
    frozen = replace(second, places={**second.places, "a": place})
    known = replace(known, entries=(known.entries[0], frozen, *known.entries[2:]))
    assert doubled(known) == {"a": set(), "b": set()}
    assert known.frozen("a") == {"bias_1"}


def test_an_array_of_another_shape_is_refused() -> None:
    with pytest.raises(Misfit, match="'table'"):
        converted({"table": np.zeros((3, 3))}, recurrent(), "a", "b")


def test_layouts_are_values() -> None:
    assert replace(Layout(axes=(1, 0)), axes=None) == SAME
