"""The files that emitted scripts read rows from: the same rows from all, damaged ones refused."""

from __future__ import annotations

import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_settings import examples
from row_sources import (
    TABLES,
    WRITERS,
    Columns,
    open_columns,
    opened,
    refused,
    told,
    told_by,
    write_npy,
)

EXTENSION = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float32}
TYPES = ("bool", "uint8", "int8", "uint16", "int32", "uint32", "int64", "float16", "float32")
LENGTHS = (3, 1, 2, 5, 3, 4, 1)


@st.composite
def column_sets(draw: st.DrawFn) -> dict[str, np.ndarray]:
    rows = draw(st.integers(1, 9))
    columns = {"labels": np.arange(rows) % 3}
    for name in draw(st.sets(st.sampled_from(("x", "ids", "mask")), min_size=1)):
        shape = (rows, *draw(st.lists(st.integers(1, 3), max_size=3)))
        dtype = np.dtype(draw(st.sampled_from((*TYPES, "float64"))))
        seed = draw(st.integers(0, 99))
        numbers = np.random.default_rng(seed).integers(0, 100, shape)
        columns[name] = (numbers % 2 if dtype.kind == "b" else numbers).astype(dtype)
        if draw(st.booleans()):
            columns[name] = np.asfortranarray(columns[name])
    return columns


@pytest.mark.parametrize("form", [*WRITERS, "custom"])
@settings(max_examples=examples(25))
@given(columns=column_sets(), data=st.data())
def test_any_rows_in_any_order_are_those_of_numpy(
    form: str, columns: dict[str, np.ndarray], data: st.DataObject
) -> None:
    n_rows = len(columns["labels"])
    with tempfile.TemporaryDirectory() as folder:
        rows = open_columns(form, columns, Path(folder))
        assert len(rows) == n_rows
        for _ in range(3):
            numbers = st.lists(st.integers(0, n_rows - 1), min_size=1, max_size=12)
            indices = np.array(data.draw(numbers))
            batch = rows.rows(indices)
            assert batch.keys() == columns.keys()
            for name, array in batch.items():
                expected = columns[name][indices]
                assert array.dtype == EXTENSION[expected.dtype.kind], name
                np.testing.assert_array_equal(array, expected, strict=False)
                assert array.shape == expected.shape
                assert type(array) is np.ndarray
                assert array.flags.c_contiguous
                assert array.flags.writeable


def varying(dtype: str = "int64", inner: tuple[int, ...] = ()) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.integers(1, 100, (length, *inner)).astype(dtype) for length in LENGTHS]


@pytest.mark.parametrize("form", [*TABLES, "custom"])
@pytest.mark.parametrize("inner", [(), (2,), (2, 3)])
@pytest.mark.parametrize("multiple", [1, 4])
def test_rows_of_varying_length_are_padded(
    tmp_path: Path, form: str, inner: tuple[int, ...], multiple: int
) -> None:
    columns: Columns = {"ids": varying(inner=inner), "labels": np.arange(len(LENGTHS))}
    source = form.split()[0]
    facts = told(source, pad_to_multiple_of=multiple, pad_values={"ids": 7})
    rows = open_columns(form, columns, tmp_path, facts)
    for numbers in ([0], [1, 6], [3, 1, 2], [6, 5, 4, 3, 2, 1, 0]):
        batch = rows.rows(np.array(numbers))
        longest = max(LENGTHS[i] for i in numbers)
        longest += -longest % multiple
        assert batch["ids"].shape == (len(numbers), longest, *inner)
        for row, number in zip(batch["ids"], numbers, strict=True):
            np.testing.assert_array_equal(row[: LENGTHS[number]], columns["ids"][number])
            assert (row[LENGTHS[number] :] == 7).all()


@pytest.mark.parametrize("form", [*WRITERS, "custom"])
def test_large_numbers_are_kept_or_refused(tmp_path: Path, form: str) -> None:
    big = {"x": np.array([2**63 - 1, -(2**63), 2**53 + 1]), "labels": np.zeros(3, int)}
    rows = open_columns(form, big, tmp_path)
    np.testing.assert_array_equal(rows.rows(np.arange(3))["x"], big["x"])
    (tmp_path / "beyond").mkdir()
    beyond = big | {"x": np.array([2**64 - 1, 0, 0], np.uint64)}
    with pytest.raises(Exception, match="cannot be int64") as caught:
        open_columns(form, beyond, tmp_path / "beyond")
    told_by(caught.value, "`x`")


def test_numbers_that_float32_cannot_hold_end_the_run(tmp_path: Path) -> None:
    columns = {"x": np.array([1.0, 1e300, np.inf]), "labels": np.zeros(3, int)}
    rows = open_columns("npy", columns, tmp_path)
    assert np.isinf(rows.rows(np.array([2]))["x"]).all()
    with pytest.raises(Exception, match=r"1e\+300, which cannot be float32") as caught:
        rows.rows(np.array([0, 1]))
    told_by(caught.value, "`x`", str(tmp_path))


@pytest.mark.parametrize("form", ["npy", *TABLES])
def test_another_process_opens_the_files_again(tmp_path: Path, form: str) -> None:
    columns = {"x": np.zeros((5000, 64)), "labels": np.arange(5000) % 3}
    rows = open_columns(form, columns, tmp_path)
    sent = pickle.dumps(rows)
    assert len(sent) < 4000
    again = pickle.loads(sent).rows(np.array([4999, 7]))
    np.testing.assert_array_equal(again["labels"], columns["labels"][[4999, 7]])


# Folders of npy files.


def folder_of(tmp_path: Path, **arrays: Any) -> Path:
    return write_npy({"labels": np.arange(4) % 3} | arrays, tmp_path / "npy")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(5), ("`x`", "5", "4")),
        (np.array(1.0), ("`x`",)),
        (np.zeros((4, 0)), ("`x`",)),
        (np.array(list("abcd")), ("`x`", "<U1")),
        (np.zeros(4, complex), ("`x`", "complex128")),
        (np.zeros(4, "M8[s]"), ("`x`", "datetime64")),
        (np.zeros(4, "i4,f4"), ("`x`",)),
        (np.array([1, 2, 3, {}], object), ("x.npy",)),
    ],
)
def test_an_npy_file_of_other_rows_is_refused(
    tmp_path: Path, array: np.ndarray, words: tuple[str, ...]
) -> None:
    path = folder_of(tmp_path, x=array)
    refused("npy", path, tmp_path, str(path), *words)


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    path = folder_of(tmp_path)

    class Bomb:
        def __reduce__(self) -> Any:
            return (os.mkdir, (str(tmp_path / "loaded"),))

    (path / "x.npy").write_bytes(pickle.dumps(Bomb()))
    refused("npy", path, tmp_path, "x.npy")
    np.save(path / "x.npy", np.array([Bomb()] * 4), allow_pickle=True)
    refused("npy", path, tmp_path, "x.npy")
    assert not (tmp_path / "loaded").exists()


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"0 1 2\n"])
def test_a_damaged_npy_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = folder_of(tmp_path)
    (path / "x.npy").write_bytes(content)
    refused("npy", path, tmp_path, "x.npy")


def test_half_an_npy_file_is_refused(tmp_path: Path) -> None:
    path = folder_of(tmp_path, x=np.zeros(4))
    whole = (path / "x.npy").read_bytes()
    (path / "x.npy").write_bytes(whole[:-9])
    refused("npy", path, tmp_path, "x.npy")


def test_an_npz_file_called_npy_is_refused(tmp_path: Path) -> None:
    path = folder_of(tmp_path)
    np.savez(tmp_path / "x.npz", x=np.zeros(4))
    (tmp_path / "x.npz").rename(path / "x.npy")
    refused("npy", path, tmp_path, "x.npy")


def test_hidden_files_are_no_arrays(tmp_path: Path) -> None:
    path = folder_of(tmp_path)
    (path / "._labels.npy").write_bytes(b"Mac OS X")
    assert opened("npy", path, tmp_path).rows(np.arange(2)).keys() == {"labels"}


@pytest.mark.parametrize("source", ["npy", "parquet", "datasets", "images"])
def test_nothing_there_is_refused(tmp_path: Path, source: str) -> None:
    refused(source, tmp_path / "none", tmp_path, str(tmp_path / "none"))
    (tmp_path / "empty").mkdir()
    refused(source, tmp_path / "empty", tmp_path, str(tmp_path / "empty"))
    (tmp_path / "file").write_bytes(b"")
    refused(source, tmp_path / "file", tmp_path, str(tmp_path / "file"))
