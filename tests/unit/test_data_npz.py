from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.data import Dataset
from crosscast.data.files import write_files
from crosscast.data.npz import ARRAYS
from crosscast.messages.codes import CODES
from crosscast.messages.diagnostics import DiagnosticError
from property_settings import examples


def dataset(rows: int = 3, length: int = 4, seed: int = 0) -> Dataset:
    rng = np.random.Generator(np.random.PCG64(seed))
    shape = (rows, length)
    mask = (rng.random(shape) < 0.5).astype(np.int32)
    mask[:, 0] = 1
    return Dataset(
        input_ids=np.floor(rng.random(shape) * 100).astype(np.int32),
        attention_mask=mask,
        token_type_ids=np.floor(rng.random(shape) * 2).astype(np.int32),
        labels=np.floor(rng.random(rows) * 3).astype(np.int32),
    )


def same(a: Dataset, b: Dataset) -> bool:
    return all(np.array_equal(a.arrays()[name], b.arrays()[name]) for name in ARRAYS)


def codes(caught: pytest.ExceptionInfo[DiagnosticError]) -> list[str]:
    found = [diagnostic.code for diagnostic in caught.value.diagnostics]
    assert set(found) <= set(CODES)
    return found


def written(path: Path, arrays: dict[str, Any]) -> Path:
    np.savez_compressed(path, allow_pickle=True, **arrays)
    return path


@settings(max_examples=examples(25))
@given(rows=st.integers(1, 20), length=st.integers(1, 12), seed=st.integers(0, 1000))
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: int, length: int, seed: int
) -> None:
    path = tmp_path_factory.mktemp("npz") / "a.npz"
    original = dataset(rows, length, seed)
    original.save(path)
    loaded = Dataset.load(path)
    assert same(original, loaded)
    assert loaded.sha256() == original.sha256()
    assert all(array.dtype == np.int32 for array in loaded.arrays().values())


def test_the_same_arrays_give_the_same_bytes() -> None:
    assert dataset(50, 16).to_bytes() == dataset(50, 16).to_bytes()


def test_memory_order_is_no_part_of_the_bytes() -> None:
    data = dataset(5, 7)
    turned = replace(data, input_ids=np.asfortranarray(data.input_ids))
    assert turned.to_bytes() == data.to_bytes()
    assert turned.sha256() == data.sha256()


def test_the_archive_holds_no_time_stamp_and_is_compressed() -> None:
    with zipfile.ZipFile(io.BytesIO(dataset().to_bytes())) as archive:
        entries = archive.infolist()
    assert [entry.filename for entry in entries] == [f"{name}.npy" for name in ARRAYS]
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {entry.compress_type for entry in entries} == {zipfile.ZIP_DEFLATED}


def test_hashes_differ_where_values_differ() -> None:
    data = dataset()
    other = replace(data, labels=(data.labels + 1).astype(np.int32))
    changed = [name for name in ARRAYS if data.sha256()[name] != other.sha256()[name]]
    assert changed == ["labels"]


def test_reads_what_numpy_writes_and_leaves_other_arrays_alone(tmp_path: Path) -> None:
    data = dataset()
    objects = np.array([{"a": 1}], dtype=object)
    path = written(tmp_path / "a.npz", {**data.arrays(), "extra": objects})
    assert same(Dataset.load(path), data)


@pytest.mark.parametrize("name", ARRAYS)
def test_missing_array(tmp_path: Path, name: str) -> None:
    arrays = dataset().arrays()
    del arrays[name]
    with pytest.raises(DiagnosticError, match=name) as caught:
        Dataset.load(written(tmp_path / "a.npz", arrays))
    assert codes(caught) == ["CC603"]


@pytest.mark.parametrize("dtype", ["int8", "int64", ">i4", "uint32", ">u8", "bool"])
@pytest.mark.parametrize("name", ARRAYS)
def test_integers_of_every_type_are_read_as_int32(tmp_path: Path, name: str, dtype: str) -> None:
    data = dataset()
    arrays = data.arrays() | {name: data.arrays()[name] % 2}
    arrays["attention_mask"][:, 0] = 1
    loaded = Dataset.load(written(tmp_path / "a.npz", arrays | {name: arrays[name].astype(dtype)}))
    assert same(loaded, Dataset(**arrays))
    assert all(array.dtype == np.int32 for array in loaded.arrays().values())


@pytest.mark.parametrize("dtype", ["float32", "complex64", "U4", "S4", "M8[s]", "i4,f4"])
def test_wrong_dtype(tmp_path: Path, dtype: str) -> None:
    arrays = {**dataset().arrays(), "labels": np.zeros(3, dtype=dtype)}
    with pytest.raises(DiagnosticError, match="labels has dtype") as caught:
        Dataset.load(written(tmp_path / "a.npz", arrays))
    assert codes(caught) == ["CC604"]


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("labels", (2,)),
        ("labels", (3, 1)),
        ("input_ids", (12,)),
        ("attention_mask", (3, 5)),
        ("token_type_ids", (2, 4)),
        ("input_ids", (0, 4)),
    ],
)
def test_wrong_shape(tmp_path: Path, name: str, shape: tuple[int, ...]) -> None:
    arrays = {**dataset().arrays(), name: np.ones(shape, dtype=np.int32)}
    with pytest.raises(DiagnosticError) as caught:
        Dataset.load(written(tmp_path / "a.npz", arrays))
    assert set(codes(caught)) == {"CC604"}


def test_all_wrong_arrays_are_named_at_once(tmp_path: Path) -> None:
    arrays = {name: array.astype(np.float64) for name, array in dataset().arrays().items()}
    del arrays["labels"]
    with pytest.raises(DiagnosticError) as caught:
        Dataset.load(written(tmp_path / "a.npz", arrays))
    assert codes(caught) == ["CC604", "CC604", "CC604", "CC603"]
    assert "astype(numpy.int32)" in caught.value.diagnostics[0].hint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("input_ids", -1),
        ("token_type_ids", -1),
        ("labels", -1),
        ("attention_mask", 2),
        ("attention_mask", -1),
    ],
)
def test_value_out_of_range_names_its_row(tmp_path: Path, name: str, value: int) -> None:
    arrays = dataset().arrays()
    arrays[name][1] = value
    with pytest.raises(DiagnosticError, match=rf"{name}.*row 1\b") as caught:
        Dataset.load(written(tmp_path / "a.npz", dict(arrays)))
    assert codes(caught) == ["CC605"]


@pytest.mark.parametrize(("dtype", "value"), [("int64", 2**31), ("uint64", 2**63 + 5)])
def test_a_number_beyond_int32_names_its_row(tmp_path: Path, dtype: str, value: int) -> None:
    ids = dataset().input_ids.astype(dtype)
    ids[2, 1] = value
    with pytest.raises(DiagnosticError, match=r"input_ids.*row 2\b") as caught:
        Dataset.load(written(tmp_path / "a.npz", dataset().arrays() | {"input_ids": ids}))
    assert codes(caught) == ["CC605"]


def test_a_row_may_have_no_label(tmp_path: Path) -> None:
    data = dataset()
    data.labels[1] = -100
    data.save(tmp_path / "a.npz")
    assert same(Dataset.load(tmp_path / "a.npz"), data)


def test_a_row_that_is_all_padding_is_refused(tmp_path: Path) -> None:
    data = dataset()
    data.attention_mask[2] = 0
    with pytest.raises(DiagnosticError, match=r"hides the whole row.*row 2") as caught:
        data.save(tmp_path / "a.npz")
    assert codes(caught) == ["CC605"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"hello\n", b"\x80\x04K\x01.", b"\x93NUMPY\x01\x00", b"PK\x05\x06" + b"\0" * 18],
)
def test_not_an_npz(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with pytest.raises(DiagnosticError) as caught:
        Dataset.load(path)
    assert set(codes(caught)) <= {"CC602", "CC603"}


def test_a_single_array_is_not_a_data_set(tmp_path: Path) -> None:
    with (tmp_path / "a.npz").open("wb") as stream:
        np.save(stream, np.zeros(3))
    with pytest.raises(DiagnosticError, match="single array") as caught:
        Dataset.load(tmp_path / "a.npz")
    assert codes(caught) == ["CC602"]


def test_pickled_arrays_are_never_loaded(tmp_path: Path) -> None:
    arrays = {**dataset().arrays(), "labels": np.array([1, "x", None], dtype=object)}
    with pytest.raises(DiagnosticError) as caught:
        Dataset.load(written(tmp_path / "a.npz", arrays))
    assert codes(caught) == ["CC602"]


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.npz", tmp_path):
        with pytest.raises(DiagnosticError, match="cannot be read") as caught:
            Dataset.load(path)
        assert codes(caught) == ["CC601"]


@settings(max_examples=examples(60))
@given(cut=st.floats(0.0, 0.999))
def test_a_truncated_file_is_refused(tmp_path_factory: pytest.TempPathFactory, cut: float) -> None:
    content = dataset(8, 8).to_bytes()
    path = tmp_path_factory.mktemp("cut") / "a.npz"
    path.write_bytes(content[: int(len(content) * cut)])
    with pytest.raises(DiagnosticError) as caught:
        Dataset.load(path)
    assert codes(caught) == ["CC602"]


@settings(max_examples=examples(150))
@given(place=st.integers(0, 10_000), value=st.integers(0, 255))
def test_a_damaged_file_loads_unchanged_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, place: int, value: int
) -> None:
    original = dataset(8, 8)
    content = bytearray(original.to_bytes())
    content[place % len(content)] = value
    path = tmp_path_factory.mktemp("flip") / "a.npz"
    path.write_bytes(content)
    assert outcome(path) in ("CC602", "CC603", original.sha256())


def outcome(path: Path) -> str | dict[str, str]:
    try:
        return Dataset.load(path).sha256()
    except DiagnosticError as error:
        return error.diagnostics[0].code


def test_save_refuses_an_existing_file_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_text("mine")
    with pytest.raises(DiagnosticError, match="already exists") as caught:
        dataset().save(path)
    assert codes(caught) == ["CC501"]
    assert path.read_text() == "mine"
    dataset().save(path, force=True)
    assert same(Dataset.load(path), dataset())


def test_save_makes_missing_folders(tmp_path: Path) -> None:
    dataset().save(tmp_path / "a" / "b" / "c.npz")
    assert [p.name for p in (tmp_path / "a" / "b").iterdir()] == ["c.npz"]


def test_one_existing_file_stops_all(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("mine")
    with pytest.raises(DiagnosticError) as caught:
        write_files({tmp_path / "a": b"1", tmp_path / "b": b"2", tmp_path / "c": b"3"})
    assert codes(caught) == ["CC501"]
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


def test_a_dangling_link_counts_as_existing(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "nowhere")
    with pytest.raises(DiagnosticError) as caught:
        write_files({tmp_path / "a": b"1"})
    assert codes(caught) == ["CC501"]


def test_a_refused_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file, not a folder")
    with pytest.raises(DiagnosticError, match="cannot be written") as caught:
        write_files({tmp_path / "a": b"1", tmp_path / "file" / "b": b"2"})
    assert codes(caught) == ["CC502"]
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(DiagnosticError) as caught:
        write_files({tmp_path / "a": b"1"}, force=True)
    assert codes(caught) == ["CC502"]
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
