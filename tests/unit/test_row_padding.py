"""Rows that vary in length are padded, or end the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_settings import examples
from row_sources import GOOD, opened_own, own_columns, refused_own


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([np.zeros(2), np.zeros((2, 2))], ("[2]", "[2, 2]")),
        ([np.zeros((2, 3)), np.zeros((2, 2))], ("[2, 2]", "[2, 3]")),
        ([np.zeros(2), np.float32(1)], ("[2]", "[]")),
        ([np.zeros(2), np.zeros(2, int)], ("float32", "int64")),
        ([np.zeros(2, bool), np.zeros(2, int)], ("bool", "int64")),
    ],
)
def test_rows_that_do_not_fit_each_other(rows: list[Any], words: tuple[str, ...]) -> None:
    columns = {"x": rows, "labels": np.arange(2)}
    refused_own(lambda: opened_own(own_columns(columns)).rows(np.arange(2)), "`x`", *words)


def test_large_unsigned_numbers_are_not_rounded_by_padding() -> None:
    """uint64 with a negative number is float64 to NumPy."""
    columns = {
        "x": [np.array([2**53 + 1], np.uint64), np.zeros(2, np.uint64)],
        "labels": np.arange(2),
    }
    rows = opened_own(own_columns(columns), pad_values={"x": -1})
    np.testing.assert_array_equal(rows.rows(np.arange(2))["x"], [[2**53 + 1, -1], [0, 0]])


@pytest.mark.parametrize(
    ("dtype", "value"), [("bool", 2), ("bool", 0.5), ("int64", 0.5), ("uint8", 1e19)]
)
def test_a_padding_of_another_type_is_refused(dtype: str, value: float) -> None:
    """Whether there is padding depends on the rows; the type of an array must not."""
    columns = {"x": [np.zeros(1, dtype), np.zeros(2, dtype)], "labels": np.arange(2)}
    rows = own_columns(columns)
    refused_own(
        lambda: opened_own(rows, pad_values={"x": value}), "`x`", "pad_values", f"{value:g}"
    )


@pytest.mark.parametrize(("dtype", "value"), [("bool", 1), ("uint8", -100), ("float16", 0.1)])
def test_a_padding_of_the_same_type(dtype: str, value: float) -> None:
    columns = {"x": [np.zeros(1, dtype), np.zeros(2, dtype)], "labels": np.arange(2)}
    found = opened_own(own_columns(columns), pad_values={"x": value}).rows(np.arange(2))["x"]
    types = {"bool": np.bool_, "uint8": np.int64, "float16": np.float32}
    np.testing.assert_array_equal(found, np.array([[0, value], [0, 0]], types[dtype]))
    assert found.dtype == types[dtype]


def test_a_padding_of_no_array_is_refused() -> None:
    refused_own(lambda: opened_own(own_columns(GOOD), pad_values={"y": 1}), "pad_values", "`y`")


def test_labels_are_padded_only_where_padding_does_not_count() -> None:
    columns = {"x": GOOD["x"], "labels": [np.arange(1 + i % 2, dtype=np.float32) for i in range(6)]}
    rows = opened_own(own_columns(columns), classes=False)
    refused_own(lambda: rows.rows(np.arange(2)), "`labels`", "count in the loss")
    rows = opened_own(own_columns(columns), unlabelled=True)
    np.testing.assert_array_equal(rows.rows(np.arange(2))["labels"], [[0, -100], [0, 1]])
    equal = columns | {"labels": [np.zeros(3, np.float32)] * 6}
    rows = opened_own(own_columns(equal), classes=False, pad_to_multiple_of=8)
    assert rows.rows(np.arange(2))["labels"].shape == (2, 3)


def test_labels_without_a_padding_are_refused() -> None:
    columns = {"x": GOOD["x"], "labels": [np.zeros(1 + i % 2, bool) for i in range(6)]}
    refused_own(
        lambda: opened_own(own_columns(columns), unlabelled=True, classes=False).rows(np.arange(2)),
        "`labels`",
        "-100",
    )


def reference(rows: list[list[Any]], multiple: int, value: Any) -> list[list[Any]]:
    """Pad plain lists."""
    longest = max(map(len, rows))
    while longest % multiple:
        longest += 1
    return [row + [value] * (longest - len(row)) for row in rows]


@settings(max_examples=examples(100))
@given(
    rows=st.lists(st.lists(st.integers(-9, 99), min_size=1, max_size=9), min_size=1, max_size=9),
    dtype=st.sampled_from(("int8", "int64", "float16", "float64", "bool")),
    multiple=st.integers(1, 9),
    value=st.sampled_from((0, 1)),
    data=st.data(),
)
def test_padding_is_that_of_plain_lists(
    rows: list[list[int]], dtype: str, multiple: int, value: int, data: st.DataObject
) -> None:
    columns: dict[str, Any] = {
        "x": [np.array(row).astype(dtype) for row in rows],
        "labels": np.zeros(len(rows), int),
    }
    facts = {"pad_to_multiple_of": multiple, "pad_values": {"x": value}}
    numbers = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=12))
    found = opened_own(own_columns(columns), **facts).rows(np.array(numbers))["x"]
    whole = reference([columns["x"][i].tolist() for i in numbers], multiple, value)
    assert found.tolist() == np.array(whole).astype(dtype).tolist()
    assert found.dtype == {"b": np.bool_, "i": np.int64, "f": np.float32}[np.dtype(dtype).kind]
