"""Rows from functions of the user's: what frameworks would read differently ends the run."""

from __future__ import annotations

import functools
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from row_sources import (
    GOOD,
    LABELS,
    Own,
    answers,
    modules,
    opened_own,
    own_columns,
    refused_own,
    runtime,
    told,
)

ROOT = Path(__file__).resolve().parents[2]


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

    refused_own(lambda: opened_own(make_rows), *words)


def test_a_function_that_fails_is_shown() -> None:
    def make_rows() -> Any:
        return open("no/such/file")  # noqa: PTH123

    found = refused_own(
        lambda: opened_own(make_rows), "test_own_rows.py", "no/such/file", "make_rows"
    )
    assert "sources.py" not in found


def test_a_function_with_arguments_is_shown() -> None:
    def make_rows(folder: str) -> Any:
        return folder

    refused_own(lambda: opened_own(make_rows), "TypeError", "folder")


def test_other_callables_have_a_name() -> None:
    rows = opened_own(functools.partial(Own, GOOD))
    assert len(rows) == 6
    refused_own(lambda: opened_own(functools.partial(Own)), name="functools")


# What rows() returns.

masked: Any = np.ma.masked_array
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
        ({"x": masked([[1.0, 2.0]], [[True, False]])}, ("`x`", "masked")),
        ({"x": [masked([1.0], [True])]}, ("`x`", "masked")),
        ({"x": np.array([[2**64 - 1]], np.uint64)}, ("`x`", "int64")),
        ({"x": np.array([[1e300]])}, ("`x`", "float32")),
        ({"labels": np.array([0.5])}, ("`labels`", "0.5")),
        ({"labels": np.zeros((1, 2), int)}, ("`labels`",)),
        ({"labels": [np.zeros(2, int)]}, ("`labels`",)),
        ({3: np.zeros(1)}, ("3",)),
    ],
)
def test_rows_of_the_wrong_kind(changes: dict[Any, Any], words: tuple[str, ...]) -> None:
    refused_own(lambda: opened_own(answers(ROW | changes)), *words)


@pytest.mark.parametrize("found", [None, [ROW["x"]], ROW["x"], (), "text"])
def test_rows_that_are_no_dict(found: Any) -> None:
    refused_own(lambda: opened_own(answers(found)), type(found).__name__)


def test_rows_without_the_target() -> None:
    refused_own(lambda: opened_own(answers({"x": np.zeros((1, 2))})), "`labels`")
    refused_own(lambda: opened_own(answers(ROW), target="y", classes=False), "`y`")
    opened_own(answers({"x": np.zeros((1, 2))}), target=None, classes=False)
    refused_own(lambda: opened_own(answers({}), target=None, classes=False))


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
    rows = opened_own(answers(ROW, ROW | later))
    refused_own(lambda: rows.rows(np.arange(1)), *words)


def test_an_array_that_is_missing_later() -> None:
    rows = opened_own(answers(ROW | {"y": np.zeros(1)}, ROW))
    refused_own(lambda: rows.rows(np.arange(1)), "`y`", "missing")


def test_rows_that_fail_are_shown() -> None:
    def make_rows() -> Any:
        class Failing(Own):
            def rows(self, indices: np.ndarray) -> Any:
                if indices[0] == 3:
                    raise KeyError("column seven")
                return super().rows(indices)

        return Failing(GOOD)

    rows = opened_own(make_rows)
    rows.rows(np.array([0, 3]))
    found = refused_own(lambda: rows.rows(np.array([3])), "column seven", "test_own_rows.py")
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
    opened_own(make_rows).rows(numbers)
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

    rows = opened_own(make_rows)
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

    found = opened_own(make_rows).rows(np.arange(6))["x"]
    assert type(found) is np.ndarray
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    assert found.flags.writeable
    np.testing.assert_array_equal(found, np.asarray(array))


def test_a_list_of_numbers_has_one_dimension() -> None:
    """Of the shape [rows, 1], the differences from predictions [rows] would be [rows, rows]."""
    columns = {"x": GOOD["x"], "labels": [np.float32(i) for i in range(6)]}
    rows = opened_own(own_columns(columns), classes=False)
    assert rows.rows(np.arange(4))["labels"].shape == (4,)
    rows = opened_own(own_columns(columns | {"labels": [0, 1, 2, 0, 1, 2]}))
    assert rows.rows(np.arange(4))["labels"].shape == (4,)


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
    refused_own(lambda: both(train, eval_rows, told(), tmp_path), *words, name="eval_rows")
    refused_own(lambda: both(eval_rows, train, told(), tmp_path), words[0], name="make_rows")
    np.savez(tmp_path / "train.npz", **GOOD)
    np.savez(tmp_path / "eval.npz", **(GOOD | changes))
    paths = tmp_path / "train.npz", tmp_path / "eval.npz"
    refused_own(lambda: both(*paths, told("npz"), tmp_path), *words, name="eval.npz")


def test_lengths_and_sizes_of_an_evaluation_may_differ(tmp_path: Path) -> None:
    fewer = {"x": np.zeros((2, 7)), "labels": np.zeros(2, int)}
    train, evaluation = runtime().open_both(own_columns(GOOD), own_columns(fewer), told(), tmp_path)
    assert (len(train), len(evaluation)) == (6, 2)


# The page.


def test_the_example_of_the_page_reads_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "reference" / "data.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    for split, lengths in (("train", (3, 1, 4)), ("eval", (2, 2))):
        folder = tmp_path / "data" / split
        folder.mkdir(parents=True)
        np.save(folder / "tokens.npy", np.arange(sum(lengths), dtype=np.uint16))
        np.save(folder / "ends.npy", np.cumsum(lengths))
        np.save(folder / "labels.npy", np.zeros(len(lengths), np.uint8))
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {"__name__": "rows"}
    exec(compile(code, "rows.py", "exec"), space)
    both = runtime().open_both(space["train_rows"], space["eval_rows"], told(), tmp_path)
    assert [len(rows) for rows in both] == [3, 2]
    batch = both[0].rows(np.array([2, 0]))
    np.testing.assert_array_equal(batch["ids"], [[4, 5, 6, 7], [0, 1, 2, 0]])
    np.testing.assert_array_equal(batch["mask"], [[1, 1, 1, 1], [1, 1, 1, 0]])


# Processes of a loader.


def open_good() -> Own:
    return Own(GOOD)


def test_another_process_calls_the_function_again() -> None:
    rows = pickle.loads(pickle.dumps(runtime().open_rows(open_good, told(), Path())))
    np.testing.assert_array_equal(rows.rows(np.array([4, 1]))["x"], GOOD["x"][[4, 1]])


def test_a_reader_hands_the_message_over() -> None:
    workers = modules()[1]
    reader = workers.Reader(opened_own(answers(ROW, ROW, {"x": "text"})))
    assert workers.read(reader[np.arange(1)]).keys() == ROW.keys()
    failed = reader[np.arange(1)]
    refused_own(lambda: workers.read(failed), "`x`")


def test_an_array_may_have_any_name() -> None:
    workers = modules()[1]
    for name in ("failure", "error", "rows", "indices"):
        rows = opened_own(own_columns({name: np.zeros((6, 2)), "labels": LABELS}))
        assert name in workers.read(workers.Reader(rows)[np.arange(2)])
