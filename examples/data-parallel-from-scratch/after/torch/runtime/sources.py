"""Open a data set: files of several forms, or an object of your own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .arrays import Batch, checked, padded
from .formats import image_rows, parquet_rows, saved_rows
from .settings import Settings, Stop


class Rows(Protocol):
    """A data set. `rows` returns the arrays of the rows with these numbers, by name.

    Rows that vary in length are a list of arrays, which are padded. What is returned
    depends on the numbers alone.
    """

    def __len__(self) -> int: ...

    def rows(self, indices: np.ndarray) -> Mapping[str, Any]: ...


class Arrays:
    """Rows of whole arrays, in memory or mapped into it."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = arrays

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    def rows(self, indices: np.ndarray) -> Batch:
        return {name: array[indices] for name, array in self.arrays.items()}


class Checked:
    """Rows as all frameworks read them alike, or the end of the run."""

    def __init__(self, name: Path | str, source: Rows, settings: Settings) -> None:
        self.name, self.source, self.settings = name, source, settings
        if not len(source):
            raise Stop("failed", 2, f"{name}: has no rows")
        self.rows(np.arange(1))  # is refused before anything is trained

    def __len__(self) -> int:
        return len(self.source)

    def rows(self, indices: np.ndarray) -> Batch:
        found = self.source.rows(indices)
        if not isinstance(found, Mapping):
            message = f"rows() returned {type(found).__name__}, no arrays by name"
            raise Stop("failed", 2, f"{self.name}: {message}")
        limits = self.settings.limits
        arrays = {
            name: padded(self.name, name, rows, self.settings)
            if isinstance(rows, list)
            else np.asarray(rows)
            for name, rows in found.items()
            if limits is None or name in limits
        }
        return checked(self.name, arrays, self.settings, len(indices))


def open_rows(source: Any, settings: Settings, folder: Path) -> Rows:
    """Open a data set: a file, a folder, or what a function of your own returns.

    `folder`: for files that are made from those of the data set.
    """
    if callable(source):
        return own_rows(source, settings)
    path, found = Path(source), None
    if path.suffix != ".npz":  # which is read whatever the recipe says
        if settings.source == "npy":
            found = mapped_rows(path)
        elif settings.source == "parquet":
            found = parquet_rows(path, folder)
        elif settings.source == "datasets":
            found = saved_rows(path)
        elif settings.source == "images":
            found = image_rows(path, settings.image_size)
    if found is None:
        return Arrays(read_rows(path, settings))
    return Checked(path, found, settings)


def own_rows(function: Callable[[], Rows], settings: Settings) -> Rows:
    """Call a function of your own."""
    found = function()
    name = f"{function.__module__}:{function.__qualname__}"
    if not (hasattr(found, "__len__") and hasattr(found, "rows")):
        message = f"has no `__len__` or no `rows(indices)`: {type(found).__name__}"
        raise Stop("failed", 2, f"{name}: {message}")
    return Checked(name, found, settings)


def read_rows(path: Path, settings: Settings) -> Batch:
    """Read the arrays of an npz file: inputs by argument name, and the target."""
    limits = settings.limits
    try:
        with np.load(path, allow_pickle=False) as file:
            names = [name for name in file.files if limits is None or name in limits]
            rows = {name: np.asarray(file[name]) for name in names}
    except Exception as error:  # a damaged file raises any
        hint = f"\n{settings.data_hint}" if settings.data_hint else ""
        raise Stop("failed", 2, f"cannot read {path}: {error}{hint}") from error
    if len(rows) < len(names):
        raise Stop("failed", 2, f"{path}: two arrays have the same name")
    return checked(path, rows, settings)


def mapped_rows(folder: Path) -> Arrays:
    """Map the npy files of a folder, each the array of its name."""
    arrays: dict[str, np.ndarray] = {}
    for path in sorted(folder.glob("*.npy")):
        try:
            arrays[path.stem] = np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception as error:  # a damaged file raises any
            raise Stop("failed", 2, f"cannot read {path}: {error}") from error
    if len({array.shape[:1] for array in arrays.values()}) > 1:
        raise Stop("failed", 2, f"{folder}: needs arrays of equal length")
    return Arrays(arrays)
