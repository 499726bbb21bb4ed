"""Open a data set: files in several formats, or your object."""

from __future__ import annotations

import functools
import mmap
import traceback
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .arrays import Batch, checked, compare_kinds, gathered, kinds_of
from .formats import Images, image_rows, parquet_rows, saved_rows, visible
from .settings import Settings, Stop, regular

MOST_MAPPED = 2**28  # bytes of a file that stay in the memory of the process
MOST_PACKED = 200  # times that arrays are larger than their npz file; zeros are 1000
MOST_SMALL = 2**30  # bytes of arrays that may be packed in any way


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
        return {n: np.ascontiguousarray(a[indices]) for n, a in self.arrays.items()}


class Mapped(Arrays):
    """Rows of arrays that are mapped into memory, of which not all stay there."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        super().__init__(arrays)
        sizes = (a.nbytes // max(1, len(a)) for a in arrays.values())
        # A row comes with its neighbours: the system maps 64 KiB at least.
        self.row_bytes = sum(max(size, 2**16) for size in sizes)
        self.mapped = 0

    def rows(self, indices: np.ndarray) -> Batch:
        batch = super().rows(indices)
        self.mapped += len(indices) * self.row_bytes
        if self.mapped > MOST_MAPPED and hasattr(mmap, "MADV_DONTNEED"):
            self.mapped = 0
            maps: list[Any] = [array.base for array in self.arrays.values()]
            for each in maps:
                each.madvise(mmap.MADV_DONTNEED)
        return batch


class Checked:
    """Rows as all frameworks read them alike, or the end of the run.

    `again`: opens them in another process, to which no data is sent.
    """

    def __init__(
        self, name: str, source: Rows, settings: Settings, again: Callable[[], Rows]
    ) -> None:
        self.name, self.source, self.settings = name, source, settings
        self.again = again
        self.kinds: dict[str, str] = {}
        if not ask(f"{name}: `__len__`", len, source):
            raise Stop("failed", 2, f"{name}: has no rows")
        first = self.rows(np.arange(1))  # is refused before anything is trained
        for each in settings.pad_values:
            if each not in first:
                message = f"pad_values has `{each}`, which is no array of the rows"
                raise Stop("failed", 2, f"{name}: {message}")
        self.kinds = kinds_of(first)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.again, ()

    def __len__(self) -> int:
        return len(self.source)

    def rows(self, indices: np.ndarray) -> Batch:
        settings, n_rows = self.settings, len(indices)
        copy = not isinstance(self.source, (Arrays, Images))
        found = ask(f"{self.name}: `rows`", self.source.rows, indices.copy())
        if not isinstance(found, Mapping):
            message = f"rows() returned {type(found).__name__}, no arrays by name"
            raise Stop("failed", 2, f"{self.name}: {message}")
        arrays: Batch = {}
        for name, rows in found.items():
            if not isinstance(name, str):
                message = f"rows() returned a name that is no string: {name!r}"
                raise Stop("failed", 2, f"{self.name}: {message}")
            if settings.limits is None or name in settings.limits:
                arrays[name] = gathered(self.name, name, rows, settings, n_rows, copy)
        arrays = checked(self.name, arrays, settings)
        if self.kinds:
            compare_kinds(self.name, kinds_of(arrays), self.kinds, "the first row")
        return arrays


def ask(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call your code; if it fails, the run ends."""
    try:
        return function(*arguments)
    except Stop:
        raise
    except Exception as error:
        frames = error.__traceback__.tb_next if error.__traceback__ else None
        text = "".join(traceback.format_exception(type(error), error, frames))
        raise Stop("failed", 2, f"{name} failed:\n{text}") from error


def open_both(
    train: Any, evaluation: Any, settings: Settings, folder: Path
) -> tuple[Rows, Rows]:
    """Open both data sets of a run, whose arrays must be of the same kinds."""
    first, second = (open_rows(each, settings, folder) for each in (train, evaluation))
    names = [named(each) for each in (train, evaluation)]
    kinds, others = (kinds_of(rows.rows(np.arange(1))) for rows in (first, second))
    compare_kinds(names[1], others, kinds, names[0])
    differ = sorted(set(classes_of(first)) ^ set(classes_of(second)))
    if differ and classes_of(first) and classes_of(second):
        message = f"its classes are not those of {names[0]}: {', '.join(differ)}"
        raise Stop("failed", 2, f"{names[1]}: {message}")
    return first, second


def classes_of(rows: Rows) -> list[str]:
    """Return the classes that labels stand for, where folders have their names."""
    source = rows.source if isinstance(rows, Checked) else None
    return source.classes if isinstance(source, Images) else []


def named(source: Any) -> str:
    """Return what messages call a data set."""
    if not callable(source):
        return str(source)
    return f"{source.__module__}:{getattr(source, '__qualname__', source)}"


def open_rows(source: Any, settings: Settings, folder: Path) -> Rows:
    """Open a data set: a file, a folder, or what your function returns.

    `folder`: for files that are made from those of the data set.
    """
    name, found = named(source), None
    if callable(source):
        found = own_rows(name, source)
    elif (path := Path(source)).suffix != ".npz":  # is read whatever the recipe says
        if settings.source == "npy":
            found = mapped_rows(path)
        elif settings.source == "parquet":
            found = parquet_rows(path, settings.limits, folder)
        elif settings.source == "datasets":
            found = saved_rows(path, settings.limits)
        elif settings.source == "images":
            found = image_rows(path, settings.image_size)
    if found is None:
        return Arrays(read_rows(path, settings))
    again = functools.partial(open_rows, source, settings, folder)
    return Checked(name, found, settings, again)


def own_rows(name: str, function: Callable[[], Any]) -> Any:
    """Call your function."""
    found = ask(name, function)
    if isinstance(found, type):
        message = f"returned the class {found.__qualname__}, no instance of it"
        raise Stop("failed", 2, f"{name} {message}")
    if not (hasattr(found, "__len__") and hasattr(found, "rows")):
        message = f"`__len__` and `rows(indices)`: {type(found).__name__}"
        raise Stop("failed", 2, f"{name} returned an object without {message}")
    return found


def read_rows(path: Path, settings: Settings) -> Batch:
    """Read the arrays of an npz file: inputs by argument name, and the target."""
    limits = settings.limits
    try:
        with np.load(regular(path), allow_pickle=False) as file:
            names = [name for name in file.files if limits is None or name in limits]
            check_packed(path, file.zip, names)
            rows = {name: np.asarray(file[name]) for name in names}
    except Exception as error:  # a damaged file raises any
        hint = f"\n{settings.data_hint}" if settings.data_hint else ""
        raise Stop("failed", 2, f"cannot read {path}: {error}{hint}") from error
    if len(rows) < len(names):
        raise Stop("failed", 2, f"{path}: two arrays have the same name")
    return checked(path, rows, settings)


def check_packed(path: Path, archive: zipfile.ZipFile, names: list[str]) -> None:
    """Refuse arrays that are packed as small as no data can be, before they are read.

    Raises:
        ValueError: there are such arrays.
    """
    wanted = {*names, *(f"{name}.npy" for name in names)}
    size = sum(m.file_size for m in archive.infolist() if m.filename in wanted)
    packed = path.stat().st_size
    if size > max(MOST_SMALL, MOST_PACKED * packed):
        message = f"it unpacks {packed} bytes to {size}"
        raise ValueError(f"{message}; if that is right, write it with numpy.savez")


def mapped_rows(folder: Path) -> Mapped:
    """Map the npy files of a folder, each the array of its name."""
    arrays: dict[str, np.ndarray] = {}
    for path in visible(folder, "*.npy"):
        try:
            arrays[path.stem] = np.lib.format.open_memmap(regular(path), mode="r")
        except Exception as error:  # a damaged file raises any
            raise Stop("failed", 2, f"cannot read {path}: {error}") from error
    if not arrays:
        raise Stop("failed", 2, f"{folder}: needs npy files")
    sizes = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    if len(set(sizes.values())) > 1:
        found = ", ".join(f"`{name}` {size}" for name, size in sizes.items())
        raise Stop("failed", 2, f"{folder}: the numbers of rows differ: {found}")
    return Mapped(arrays)
