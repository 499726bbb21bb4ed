"""Rows from Parquet files and saved data sets: what is no table of numbers is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from row_sources import (
    TABLES,
    WRITERS,
    Columns,
    arrow_table,
    open_columns,
    opened,
    refused,
    runtime,
    told,
    told_by,
    write_parquet,
    write_saved,
)

EXTENSION = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float32}
TYPES = ("bool", "uint8", "int8", "uint16", "int32", "uint32", "int64", "float16", "float32")
LENGTHS = (3, 1, 2, 5, 3, 4, 1)


@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, None, 3, 4], ("without a value",)),
        ([[1], None, [3], [4]], ("without a value",)),
        ([[1], [2, None], [3], [4]], ("without a value",)),
        (list("abcd"), ("string",)),
        ([list("ab"), [], ["c"], []], ("string",)),
        ([{"a": 1}] * 4, ("struct",)),
        ([b"a"] * 4, ("binary",)),
        ([None] * 4, ("null",)),
    ],
)
def test_columns_of_other_things_are_refused(
    tmp_path: Path, form: str, values: list[Any], words: tuple[str, ...]
) -> None:
    import pyarrow as pa

    source, write = WRITERS[form]
    if write is write_saved:
        import datasets

        datasets.disable_progress_bars()
        path = tmp_path / "rows"
        datasets.Dataset.from_dict({"x": values, "labels": [0, 1, 2, 0]}).save_to_disk(path)
    else:
        import pyarrow.parquet as pq

        path = tmp_path / "rows.parquet"
        pq.write_table(pa.table({"x": pa.array(values), "labels": [0, 1, 2, 0]}), path)
    with pytest.raises(Exception, match="`x`") as caught:
        opened(source, path, tmp_path).rows(np.arange(4))
    told_by(caught.value, str(path), *words)


@pytest.mark.parametrize("form", TABLES)
def test_inner_lists_must_be_of_one_length(tmp_path: Path, form: str) -> None:
    import pyarrow as pa

    values = [[[1, 2], [3, 4]], [[5, 6]], [[7]], [[8], [9]]]
    table = pa.table({"x": values, "labels": [0, 1, 2, 0]})
    source = WRITERS[form][0]
    path = tmp_path / "rows.parquet"
    if source == "datasets":
        import datasets

        datasets.disable_progress_bars()
        datasets.Dataset(table).save_to_disk(str(path))
    else:
        import pyarrow.parquet as pq

        pq.write_table(table, path)
    rows = opened(source, path, tmp_path)
    np.testing.assert_array_equal(
        rows.rows(np.array([1, 0]))["x"], [[[5, 6], [0, 0]], [[1, 2], [3, 4]]]
    )
    with pytest.raises(Exception, match="inner lists") as caught:
        rows.rows(np.array([1, 2]))
    told_by(caught.value, "`x`", str(path))


@pytest.mark.parametrize("form", TABLES)
def test_an_empty_list_is_all_padding(tmp_path: Path, form: str) -> None:
    columns: Columns = {
        "x": [np.array([1, 2]), np.array([], int), np.array([3])],
        "labels": np.arange(3),
    }
    rows = open_columns(form, columns, tmp_path)
    np.testing.assert_array_equal(rows.rows(np.array([1, 0]))["x"], [[0, 0], [1, 2]])
    with pytest.raises(Exception, match="`x`") as caught:
        rows.rows(np.array([1]))
    told_by(caught.value, str(tmp_path))


def test_parquet_files_of_another_schema_are_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = pa.table({"x": [1.0, 2.0], "labels": [0, 1]})
    for other, words in (
        (pa.table({"x": [1, 2], "labels": [0, 1]}), ("`x`", "int64", "double")),
        (pa.table({"labels": [0, 1]}), ("`x`", "missing")),
        (pa.table({"x": [1.0], "y": [1.0], "labels": [0]}), ("`y`", "missing")),
    ):
        path = tmp_path / "parts"
        path.mkdir(exist_ok=True)
        pq.write_table(first, path / "0.parquet")
        pq.write_table(other, path / "1.parquet")
        refused("parquet", path, tmp_path, "1.parquet", *words)
    assert not list(tmp_path.glob("*.partial"))


def test_parquet_files_of_the_same_columns_are_read_together(tmp_path: Path) -> None:
    """Order, metadata, names of items and whether nulls are allowed differ; numbers do not."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "parts"
    path.mkdir()
    other = pa.list_(pa.field("element", pa.int64(), nullable=False))
    tables = (
        pa.table({"x": [[1, 2], [3]], "labels": [0, 1]}),
        pa.table({"labels": [2, 0], "x": [[4], [5, 6]]}).replace_schema_metadata({"a": "b"}),
        pa.table({"x": pa.array([], pa.list_(pa.int64())), "labels": pa.array([], pa.int64())}),
        pa.table(
            [pa.array([[7, 8, 9]], other), pa.array([1])],
            pa.schema([pa.field("x", other, nullable=False), ("labels", pa.int64())]),
        ),
    )
    for part, table in enumerate(tables):
        pq.write_table(table, path / f"{part}.parquet")
    (path / "._0.parquet").write_bytes(b"Mac OS X")
    rows = opened("parquet", path, tmp_path)
    assert len(rows) == 5
    batch = rows.rows(np.array([4, 2, 0]))
    np.testing.assert_array_equal(batch["x"], [[7, 8, 9], [4, 0, 0], [1, 2, 0]])
    np.testing.assert_array_equal(batch["labels"], [1, 2, 0])


def test_parquet_files_without_rows_are_refused(tmp_path: Path) -> None:
    path = write_parquet({"x": np.zeros(0), "labels": np.zeros(0, int)}, tmp_path / "none")
    refused("parquet", path, tmp_path, str(path), "no rows")


@pytest.mark.parametrize("cut", [0, 3, 200, -4])
def test_a_damaged_parquet_file_is_refused(tmp_path: Path, cut: int) -> None:
    path = write_parquet({"x": np.arange(50.0), "labels": np.arange(50) % 3}, tmp_path / "rows")
    path.write_bytes(path.read_bytes()[:cut])
    refused("parquet", path, tmp_path, str(path))
    assert not list(tmp_path.glob("*.partial"))


def test_two_parquet_files_of_one_name_and_time_are_two(tmp_path: Path) -> None:
    """Copies keep times; `train/rows.parquet` and `eval/rows.parquet` may have the same."""
    found = []
    for name, first in (("train", 0), ("eval", 100)):
        (tmp_path / name).mkdir()
        columns = {"x": np.arange(4) + first, "labels": np.zeros(4, int)}
        path = write_parquet(columns, tmp_path / name / "rows")
        os.utime(path, (1_700_000_000, 1_700_000_000))
        found.append(opened("parquet", path, tmp_path).rows(np.arange(1))["x"].item())
    assert found == [0, 100]


def test_a_changed_parquet_file_is_read_again(tmp_path: Path) -> None:
    """Also where the new file, or what is left of a folder, is older."""
    path = tmp_path / "parts"
    path.mkdir()
    for part, second in enumerate((1_700_000_000, 1_600_000_000)):
        columns = {"x": np.arange(4) + 10 * part, "labels": np.zeros(4, int)}
        file = write_parquet(columns, path / str(part))
        os.utime(file, (second, second))
    assert len(opened("parquet", path, tmp_path)) == 8
    (path / "1.parquet").unlink()
    assert len(opened("parquet", path, tmp_path)) == 4
    columns = {"x": np.arange(4) + 30, "labels": np.zeros(4, int)}
    os.utime(write_parquet(columns, path / "2"), (1_500_000_000, 1_500_000_000))
    rows = opened("parquet", path, tmp_path)
    np.testing.assert_array_equal(rows.rows(np.array([0, 4]))["x"], [0, 30])


def test_a_parquet_file_is_written_to_arrow_once(tmp_path: Path) -> None:
    path = write_parquet({"x": np.arange(4.0), "labels": np.zeros(4, int)}, tmp_path / "rows")
    for _ in range(2):
        opened("parquet", path, tmp_path)
        (written,) = tmp_path.glob("*.arrow")
        os.utime(written, (1, 1))
    assert written.stat().st_mtime == 1
    # A process that was killed leaves a part of it, which nobody reads.
    (tmp_path / "rows-0.partial").write_bytes(written.read_bytes()[:100])
    assert len(opened("parquet", path, tmp_path)) == 4


@pytest.mark.parametrize("form", TABLES)
def test_bert_reads_only_its_columns(tmp_path: Path, form: str) -> None:
    """Tables of tokens still have the text that they were made of."""
    import pyarrow as pa

    inputs = ("input_ids", "attention_mask", "token_type_ids")
    columns: Columns = {name: [np.ones(n, int) for n in (3, 5, 2)] for name in inputs}
    table = arrow_table(columns | {"labels": np.arange(3)})
    table = table.append_column("text", pa.array(["a", None, "c"]))
    source = WRITERS[form][0]
    path = tmp_path / "rows.parquet"
    if source == "datasets":
        import datasets

        datasets.disable_progress_bars()
        datasets.Dataset(table).save_to_disk(str(path))
    else:
        import pyarrow.parquet as pq

        pq.write_table(table, path)
    batch = opened(source, path, tmp_path, bert=True).rows(np.array([2, 0]))
    assert batch.keys() == {*inputs, "labels"}
    np.testing.assert_array_equal(batch["attention_mask"], [[1, 1, 0], [1, 1, 1]])


@pytest.mark.parametrize("form", [*TABLES, "custom"])
def test_rows_longer_than_bert_takes_are_refused(tmp_path: Path, form: str) -> None:
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    columns: Columns = {name: [np.ones(n, int) for n in (3, 17)] for name in inputs}
    settings = told(form.split()[0], bert=True)
    rows = open_columns(form, columns | {"labels": np.arange(2)}, tmp_path, settings)
    with pytest.raises(Exception, match="`input_ids`") as caught:
        rows.rows(np.array([0, 1]))
    told_by(caught.value, "of 1 to 16 tokens", "[2, 17]")


def test_a_dictionary_of_data_sets_is_refused(tmp_path: Path) -> None:
    import datasets

    datasets.disable_progress_bars()
    one = datasets.Dataset.from_dict({"x": [1.0], "labels": [0]})
    datasets.DatasetDict({"train": one, "test": one}).save_to_disk(str(tmp_path / "both"))
    refused("datasets", tmp_path / "both", tmp_path, "both", "train", "test")


def test_a_saved_data_set_that_was_filtered_is_read_as_it_is(tmp_path: Path) -> None:
    import datasets

    datasets.disable_progress_bars()
    data = datasets.Dataset.from_dict({"x": list(range(10)), "labels": [0] * 10})
    data.select([7, 3, 5]).save_to_disk(str(tmp_path / "chosen"))
    rows = opened("datasets", tmp_path / "chosen", tmp_path)
    np.testing.assert_array_equal(rows.rows(np.array([2, 0]))["x"], [5, 7])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_rows_that_were_read_do_not_stay_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sparse file: reading it fills pages, and takes no space on the disk."""

    def resident() -> float:
        lines = Path("/proc/self/status").read_text().splitlines()
        (size,) = (line.split()[1] for line in lines if line.startswith("RssFile"))
        return int(size) / 1024

    path = tmp_path / "npy"
    path.mkdir()
    np.lib.format.open_memmap(path / "x.npy", "w+", np.float32, (4096, 64, 128))
    np.lib.format.open_memmap(path / "labels.npy", "w+", np.int64, (4096,))
    monkeypatch.setattr(runtime(), "MOST_MAPPED", 2**23)
    rows, before = opened("npy", path, tmp_path), resident()
    for start in range(0, 4096, 32):
        assert not rows.rows(np.arange(start, start + 32))["x"].any()
    assert resident() - before < 24
