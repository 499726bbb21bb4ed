"""Rows written in every form that emitted scripts read, and the runtime that reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from crosscast.emit.compiler import compile_recipe
from frameworks.emitted_script import tiny_recipe
from runtime_texts import reading_modules, settings_of

Columns = Mapping[str, np.ndarray | Sequence[np.ndarray]]
"""Arrays by name; one whose rows vary in length is a sequence of them."""


@cache
def emitted(bert: bool = False) -> dict[str, str]:
    """Return the texts of a script, of the shipped BERT or of a custom model."""
    factory = dict.fromkeys(("torch", "tensorflow", "paddle"), "own:build_model")
    own = {"model": {"kind": "custom", "factory": factory}}
    (compiled,) = compile_recipe(tiny_recipe(**({} if bert else own)), ["torch"])
    return {path: file.text for path, file in compiled.files.items()}


@cache
def modules() -> tuple[ModuleType, ModuleType]:
    """Return `runtime/sources.py` and `runtime/workers.py`."""
    return reading_modules(emitted())


def runtime() -> ModuleType:
    """Return `runtime/sources.py`."""
    return modules()[0]


def told(source: str = "custom", *, bert: bool = False, **facts: Any) -> Any:
    """Return the settings of a script whose rows have this form."""
    return replace(settings_of(emitted(bert)), source=source, **facts)


def write_npz(columns: Columns, path: Path) -> Path:
    np.savez(path.with_suffix(".npz"), **columns)  # type: ignore[arg-type]
    return path.with_suffix(".npz")


def write_npy(columns: Columns, path: Path) -> Path:
    path.mkdir()
    for name, array in columns.items():
        np.save(path / f"{name}.npy", array)
    return path


def arrow_table(columns: Columns) -> Any:
    """Return a table of Arrow; arrays of several dimensions become lists of a fixed size."""
    import pyarrow as pa

    def column(rows: Any) -> Any:
        if not isinstance(rows, np.ndarray):
            return pa.array([array.tolist() for array in rows])
        whole = pa.array(rows.ravel())
        for size in rows.shape[:0:-1]:
            whole = pa.FixedSizeListArray.from_arrays(whole, size)
        return whole

    return pa.table({name: column(rows) for name, rows in columns.items()})


def write_parquet(columns: Columns, path: Path) -> Path:
    import pyarrow.parquet as pq

    pq.write_table(arrow_table(columns), path.with_suffix(".parquet"), row_group_size=3)
    return path.with_suffix(".parquet")


def write_parquet_parts(columns: Columns, path: Path) -> Path:
    import pyarrow.parquet as pq

    table = arrow_table(columns)
    path.mkdir()
    for part, start in enumerate(range(0, len(table), 2)):
        pq.write_table(table.slice(start, 2), path / f"{part:04}.parquet")
    return path


def write_saved(columns: Columns, path: Path) -> Path:
    import datasets

    datasets.disable_progress_bars()
    datasets.Dataset(arrow_table(columns)).save_to_disk(str(path))
    return path


WRITERS: dict[str, tuple[str, Callable[[Columns, Path], Path]]] = {
    "npz": ("npz", write_npz),
    "npy": ("npy", write_npy),
    "parquet": ("parquet", write_parquet),
    "parquet parts": ("parquet", write_parquet_parts),
    "datasets": ("datasets", write_saved),
}
"""By name, the source of a recipe and the function that writes its files."""
TABLES = ("parquet", "parquet parts", "datasets")
"""Those whose rows may vary in length."""


class Own:
    """Rows as a user would write them: columns in memory."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def rows(self, indices: np.ndarray) -> Any:
        return {
            name: rows[indices] if isinstance(rows, np.ndarray) else [rows[i] for i in indices]
            for name, rows in self.columns.items()
        }


def own_columns(columns: Mapping[str, Any]) -> Callable[[], Own]:
    """Return a user's function that opens these columns."""

    def make_rows() -> Own:
        return Own(columns)

    return make_rows


def open_columns(form: str, columns: Columns, folder: Path, settings: Any | None = None) -> Any:
    """Write columns in a form, and open them as a script does."""
    if form == "custom":
        return runtime().open_rows(own_columns(columns), settings or told(), folder)
    source, write = WRITERS[form]
    path = write(columns, folder / "rows")
    return runtime().open_rows(path, settings or told(source), folder)


LABELS = np.arange(6) % 3
GOOD: dict[str, Any] = {"x": np.arange(12.0).reshape(6, 2), "labels": LABELS}


def opened_own(function: Any, **facts: Any) -> Any:
    return runtime().open_rows(function, told(**facts), Path())


def refused_own(use: Callable[[], Any], *words: str, name: str = "make_rows") -> str:
    with pytest.raises(Exception, match=r"\w") as caught:
        use()
    error = caught.value
    assert type(error).__name__ == "Stop", repr(error)
    assert (vars(error)["status"], vars(error)["exit_code"]) == ("failed", 2)
    assert [word for word in (name, *words) if word not in str(error)] == [], str(error)
    return str(error)


def answers(*batches: Any) -> Callable[[], Any]:
    """Return a user's function whose rows() returns these, one after the other."""

    def make_rows() -> Any:
        left = list(batches)

        class Told(Own):
            def rows(self, indices: np.ndarray) -> Any:
                return left.pop(0) if len(left) > 1 else left[0]

        return Told(GOOD)

    return make_rows


def opened(source: str, path: Any, folder: Path, **facts: Any) -> Any:
    return runtime().open_rows(path, told(source, **facts), folder)


def refused(source: str, path: Any, folder: Path, *words: str, **facts: Any) -> str:
    """Return the message of a refusal, which has all these words."""
    with pytest.raises(Exception, match=r"\w") as caught:
        opened(source, path, folder, **facts)
    return told_by(caught.value, *words)


def told_by(error: BaseException, *words: str) -> str:
    assert type(error).__name__ == "Stop", repr(error)
    assert (vars(error)["status"], vars(error)["exit_code"]) == ("failed", 2)
    assert [word for word in words if word not in str(error)] == [], str(error)
    return str(error)
