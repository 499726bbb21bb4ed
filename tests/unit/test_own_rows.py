"""Rows from functions of the user's: what frameworks would read differently ends the run."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_settings import examples
from row_sources import Own, modules, own_columns, runtime, told

LABELS = np.arange(6) % 3
GOOD: dict[str, Any] = {"x": np.arange(12.0).reshape(6, 2), "labels": LABELS}


def opened(function: Any, **facts: Any) -> Any:
    return runtime().open_rows(function, told(**facts), Path())


def refused(use: Callable[[], Any], *words: str, name: str = "make_rows") -> str:
    with pytest.raises(Exception, match=r"\w") as caught:
        use()
    error = caught.value
    assert type(error).__name__ == "Stop", repr(error)
    assert (vars(error)["status"], vars(error)["exit_code"]) == ("failed", 2)
    assert [word for word in (name, *words) if word not in str(error)] == [], str(error)
    return str(error)


def answers(*batches: Any) -> Callable[[], Any]:
    """Return a function of the user's whose rows() returns these, one after the other."""

    def make_rows() -> Any:
        left = list(batches)

        class Told(Own):
            def rows(self, indices: np.ndarray) -> Any:
                return left.pop(0) if len(left) > 1 else left[0]

        return Told(GOOD)

    return make_rows


# What a function returns.


class NoLength:
    def rows(self, indices: np.ndarray) -> Any:
        return GOOD


class NoRows:
    def __len__(self) -> int:
        return 3


class Empty(NoLength):
    def __len__(self) -> int:
        return 0


class Negative(NoLength):
    def __len__(self) -> int:
        return -1


class Words(NoLength):
    def __len__(self) -> Any:
        return "many"


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (NoLength(), ("__len__", "NoLength")),
        (NoRows(), ("rows(indices)", "NoRows")),
        (Own, ("instance", "Own")),
        (GOOD, ("rows(indices)", "dict")),
        ([1, 2], ("rows(indices)", "list")),
        (None, ("NoneType",)),
        (Empty(), ("no rows",)),
        (Negative(), ("__len__",)),
        (Words(), ("__len__",)),
    ],
)
def test_a_function_that_returns_no_rows(made: Any, words: tuple[str, ...]) -> None:
    def make_rows() -> Any:
        return made

    refused(lambda: opened(make_rows), *words)


def test_a_function_that_fails_is_shown() -> None:
    def make_rows() -> Any:
        return open("no/such/file")  # noqa: PTH123

    found = refused(lambda: opened(make_rows), "test_own_rows.py", "no/such/file", "make_rows")
    assert "sources.py" not in found


def test_a_function_with_arguments_is_shown() -> None:
    def make_rows(folder: str) -> Any:
        return folder

    refused(lambda: opened(make_rows), "TypeError", "folder")


def test_other_callables_have_a_name() -> None:
    rows = opened(functools.partial(Own, GOOD))
    assert len(rows) == 6
    refused(lambda: opened(functools.partial(Own)), name="functools")


# What rows() returns.

ROW = {"x": np.zeros((1, 2)), "labels": np.zeros(1, int)}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"x": np.zeros((3, 2))}, ("`x`", "3", "1")),
        ({"x": [np.zeros(2)] * 3}, ("`x`", "3", "1")),
        ({"x": []}, ("`x`", "0", "1")),
        ({"x": 1.0}, ("`x`",)),
        ({"x": np.zeros((1, 0))}, ("`x`",)),
        ({"x": None}, ("`x`",)),
        ({"x": "text"}, ("`x`",)),
        ({"x": ["text"]}, ("`x`",)),
        ({"x": [None]}, ("`x`",)),
        ({"x": ([1, 2], [3])}, ("`x`",)),
        ({"x": [[[1, 2], [3]]]}, ("`x`",)),
        ({"x": [{"a": 1}]}, ("`x`",)),
        ({"x": {"a": 1}}, ("`x`",)),
        ({"x": np.zeros(1, complex)}, ("`x`", "complex128")),
        ({"x": np.array([{}], object)}, ("`x`",)),
        ({"x": np.zeros(1, "M8[s]")}, ("`x`",)),
        ({"x": np.ma.masked_array([[1.0, 2.0]], [[True, False]])}, ("`x`", "masked")),
        ({"x": [np.ma.masked_array([1.0], [True])]}, ("`x`", "masked")),
        ({"x": np.array([[2**64 - 1]], np.uint64)}, ("`x`", "int64")),
        ({"x": np.array([[1e300]])}, ("`x`", "float32")),
        ({"labels": np.array([0.5])}, ("`labels`", "0.5")),
        ({"labels": np.zeros((1, 2), int)}, ("`labels`",)),
        ({"labels": [np.zeros(2, int)]}, ("`labels`",)),
        ({3: np.zeros(1)}, ("3",)),
    ],
)
def test_rows_of_the_wrong_kind(changes: dict[Any, Any], words: tuple[str, ...]) -> None:
    refused(lambda: opened(answers(ROW | changes)), *words)


@pytest.mark.parametrize("found", [None, [ROW["x"]], ROW["x"], (), "text"])
def test_rows_that_are_no_dict(found: Any) -> None:
    refused(lambda: opened(answers(found)), type(found).__name__)


def test_rows_without_the_target() -> None:
    refused(lambda: opened(answers({"x": np.zeros((1, 2))})), "`labels`")
    refused(lambda: opened(answers(ROW), target="y", classes=False), "`y`")
    opened(answers({"x": np.zeros((1, 2))}), target=None, classes=False)
    refused(lambda: opened(answers({}), target=None, classes=False))


@pytest.mark.parametrize(
    ("later", "words"),
    [
        ({"x": np.zeros((1, 2), int)}, ("`x`", "int64", "float32")),
        ({"x": np.zeros((1, 2), bool)}, ("`x`", "bool", "float32")),
        ({"x": np.zeros((1, 2, 1))}, ("`x`", "3 dimensions", "2 dimensions")),
        ({"x": np.zeros(1)}, ("`x`", "1 dimension", "2 dimensions")),
        ({"y": np.zeros(1)}, ("`y`", "missing")),
    ],
)
def test_arrays_that_change_later(later: dict[str, Any], words: tuple[str, ...]) -> None:
    rows = opened(answers(ROW, ROW | later))
    refused(lambda: rows.rows(np.arange(1)), *words)


def test_an_array_that_is_missing_later() -> None:
    rows = opened(answers(ROW | {"y": np.zeros(1)}, ROW))
    refused(lambda: rows.rows(np.arange(1)), "`y`", "missing")


def test_rows_that_fail_are_shown() -> None:
    def make_rows() -> Any:
        class Failing(Own):
            def rows(self, indices: np.ndarray) -> Any:
                if indices[0] == 3:
                    raise KeyError("column seven")
                return super().rows(indices)

        return Failing(GOOD)

    rows = opened(make_rows)
    rows.rows(np.array([0, 3]))
    found = refused(lambda: rows.rows(np.array([3])), "column seven", "test_own_rows.py")
    assert "sources.py" not in found


def test_numbers_belong_to_the_caller() -> None:
    """A sorted copy of them is the user's business; the order of the epoch is not."""

    def make_rows() -> Any:
        class Sorting(Own):
            def rows(self, indices: np.ndarray) -> Any:
                indices.sort()
                return super().rows(indices)

        return Sorting(GOOD)

    numbers = np.array([3, 1, 2])
    opened(make_rows).rows(numbers)
    np.testing.assert_array_equal(numbers, [3, 1, 2])


def test_arrays_that_are_filled_again_are_copied() -> None:
    """A window holds several micro-batches; workers send theirs away, and must not differ."""

    def make_rows() -> Any:
        class Reusing(Own):
            buffer = np.zeros((2, 2), np.float32)

            def rows(self, indices: np.ndarray) -> Any:
                found = super().rows(indices)
                self.buffer[: len(indices)] = found["x"]
                return found | {"x": self.buffer[: len(indices)]}

        return Reusing(GOOD)

    rows = opened(make_rows)
    window = [rows.rows(np.array(numbers)) for numbers in ([0, 1], [2, 3])]
    np.testing.assert_array_equal(window[0]["x"], GOOD["x"][:2])


@pytest.mark.parametrize(
    "array",
    [
        GOOD["x"][::-1],
        np.asfortranarray(GOOD["x"]),
        GOOD["x"].astype(">f4"),
        np.broadcast_to(np.float32(3), (6, 2)),
        GOOD["x"].view(np.recarray),
        [[0.5, 1.5]] * 6,
        ((0.5, 1.5),) * 6,
    ],
)
def test_arrays_are_plain_when_frameworks_get_them(array: Any) -> None:
    def make_rows() -> Any:
        class Whole(Own):
            def rows(self, indices: np.ndarray) -> Any:
                return {"x": array[: len(indices)], "labels": LABELS[: len(indices)]}

        return Whole(GOOD)

    found = opened(make_rows).rows(np.arange(6))["x"]
    assert type(found) is np.ndarray
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    assert found.flags.writeable
    np.testing.assert_array_equal(found, np.asarray(array))


def test_a_list_of_numbers_has_one_dimension() -> None:
    """Of the shape [rows, 1], the differences from predictions [rows] would be [rows, rows]."""
    columns = {"x": GOOD["x"], "labels": [np.float32(i) for i in range(6)]}
    rows = opened(own_columns(columns), classes=False)
    assert rows.rows(np.arange(4))["labels"].shape == (4,)
    rows = opened(own_columns(columns | {"labels": [0, 1, 2, 0, 1, 2]}))
    assert rows.rows(np.arange(4))["labels"].shape == (4,)


# Padding.


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
    refused(lambda: opened(own_columns(columns)).rows(np.arange(2)), "`x`", *words)


def test_large_unsigned_numbers_are_not_rounded_by_padding() -> None:
    """uint64 with a negative number is float64 to NumPy."""
    columns = {
        "x": [np.array([2**53 + 1], np.uint64), np.zeros(2, np.uint64)],
        "labels": np.arange(2),
    }
    rows = opened(own_columns(columns), pad_values={"x": -1})
    np.testing.assert_array_equal(rows.rows(np.arange(2))["x"], [[2**53 + 1, -1], [0, 0]])


@pytest.mark.parametrize(
    ("dtype", "value"), [("bool", 2), ("bool", 0.5), ("int64", 0.5), ("uint8", 1e19)]
)
def test_a_padding_of_another_type_is_refused(dtype: str, value: float) -> None:
    """Whether there is padding depends on the rows; the type of an array must not."""
    columns = {"x": [np.zeros(1, dtype), np.zeros(2, dtype)], "labels": np.arange(2)}
    rows = own_columns(columns)
    refused(lambda: opened(rows, pad_values={"x": value}), "`x`", "pad_values", f"{value:g}")


@pytest.mark.parametrize(("dtype", "value"), [("bool", 1), ("uint8", -100), ("float16", 0.1)])
def test_a_padding_of_the_same_type(dtype: str, value: float) -> None:
    columns = {"x": [np.zeros(1, dtype), np.zeros(2, dtype)], "labels": np.arange(2)}
    found = opened(own_columns(columns), pad_values={"x": value}).rows(np.arange(2))["x"]
    types = {"bool": np.bool_, "uint8": np.int64, "float16": np.float32}
    np.testing.assert_array_equal(found, np.array([[0, value], [0, 0]], types[dtype]))
    assert found.dtype == types[dtype]


def test_a_padding_of_no_array_is_refused() -> None:
    refused(lambda: opened(own_columns(GOOD), pad_values={"y": 1}), "pad_values", "`y`")


def test_labels_are_padded_only_where_padding_does_not_count() -> None:
    columns = {
        "x": GOOD["x"],
        "labels": [np.arange(1 + i % 2, dtype=np.float32) for i in range(6)],
    }
    rows = opened(own_columns(columns), classes=False)
    refused(lambda: rows.rows(np.arange(2)), "`labels`", "count in the loss")
    rows = opened(own_columns(columns), unlabelled=True)
    np.testing.assert_array_equal(rows.rows(np.arange(2))["labels"], [[0, -100], [0, 1]])
    equal = columns | {"labels": [np.zeros(3, np.float32)] * 6}
    rows = opened(own_columns(equal), classes=False, pad_to_multiple_of=8)
    assert rows.rows(np.arange(2))["labels"].shape == (2, 3)


def test_labels_without_a_padding_are_refused() -> None:
    columns = {"x": GOOD["x"], "labels": [np.zeros(1 + i % 2, bool) for i in range(6)]}
    refused(
        lambda: opened(own_columns(columns), unlabelled=True, classes=False).rows(np.arange(2)),
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
    columns = {
        "x": [np.array(row).astype(dtype) for row in rows],
        "labels": np.zeros(len(rows), int),
    }
    facts = {"pad_to_multiple_of": multiple, "pad_values": {"x": value}}
    numbers = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=12))
    found = opened(own_columns(columns), **facts).rows(np.array(numbers))["x"]
    whole = reference([columns["x"][i].tolist() for i in numbers], multiple, value)
    assert found.tolist() == np.array(whole).astype(dtype).tolist()
    assert found.dtype == {"b": np.bool_, "i": np.int64, "f": np.float32}[np.dtype(dtype).kind]


# Two data sets.


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"y": np.zeros(6)}, ("`y`", "missing")),
        ({"x": np.zeros((6, 2), int)}, ("`x`", "int64", "float32")),
        ({"x": np.zeros((6, 2, 2))}, ("`x`", "3 dimensions")),
    ],
)
def test_training_and_evaluation_have_the_same_arrays(
    tmp_path: Path, changes: dict[str, Any], words: tuple[str, ...]
) -> None:
    """Otherwise the run would fail after hours, at its evaluation."""

    def eval_rows() -> Any:
        return Own(GOOD | changes)

    both = runtime().open_both
    train = own_columns(GOOD)
    refused(lambda: both(train, eval_rows, told(), tmp_path), *words, name="eval_rows")
    refused(lambda: both(eval_rows, train, told(), tmp_path), words[0], name="make_rows")
    np.savez(tmp_path / "train.npz", **GOOD)
    np.savez(tmp_path / "eval.npz", **(GOOD | changes))
    paths = tmp_path / "train.npz", tmp_path / "eval.npz"
    refused(lambda: both(*paths, told("npz"), tmp_path), *words, name="eval.npz")


def test_lengths_and_sizes_of_an_evaluation_may_differ(tmp_path: Path) -> None:
    fewer = {"x": np.zeros((2, 7)), "labels": np.zeros(2, int)}
    train, evaluation = runtime().open_both(own_columns(GOOD), own_columns(fewer), told(), tmp_path)
    assert (len(train), len(evaluation)) == (6, 2)


# Processes of a loader.


def open_good() -> Own:
    return Own(GOOD)


def test_another_process_calls_the_function_again() -> None:
    rows = pickle.loads(pickle.dumps(runtime().open_rows(open_good, told(), Path())))
    np.testing.assert_array_equal(rows.rows(np.array([4, 1]))["x"], GOOD["x"][[4, 1]])


def test_a_reader_hands_the_message_over() -> None:
    workers = modules()[1]
    reader = workers.Reader(opened(answers(ROW, ROW, {"x": "text"})))
    assert workers.read(reader[np.arange(1)]).keys() == ROW.keys()
    failed = reader[np.arange(1)]
    refused(lambda: workers.read(failed), "`x`")


def test_an_array_may_have_any_name() -> None:
    workers = modules()[1]
    for name in ("failure", "error", "rows", "indices"):
        rows = opened(own_columns({name: np.zeros((6, 2)), "labels": LABELS}))
        assert name in workers.read(workers.Reader(rows)[np.arange(2)])
