"""Read rows from Arrow, Parquet and images, each by a library of its own."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .settings import Stop


def needed(library: str, package: str, path: Path) -> Any:
    """Import a library, or say what needs it."""
    try:
        return importlib.import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library.partition(".")[0]:
            raise
        message = f"{path} needs {package}: pip install {package}"
        raise Stop("cannot_run", 3, message) from None


class Table:
    """Rows of record batches of Arrow, one column for each array."""

    def __init__(
        self, name: Path, size: int, take: Callable[[np.ndarray], Any]
    ) -> None:
        self.name, self.size, self.take = name, size, take

    def __len__(self) -> int:
        return self.size

    def rows(self, indices: np.ndarray) -> dict[str, Any]:
        table = self.take(indices)
        return {
            name: self.values(name, table[name].combine_chunks())
            for name in table.column_names
        }

    def values(self, name: str, column: Any) -> Any:
        """Return a column as an array, or as a list of arrays if its rows are lists."""
        if column.null_count:
            raise Stop("failed", 2, f"{self.name}: `{name}` has a row without a value")
        if not hasattr(column, "value_lengths"):
            return column.to_numpy(zero_copy_only=False)
        inner = self.values(name, column.flatten())
        sizes = column.value_lengths().to_numpy().tolist()
        starts = np.cumsum([0, *sizes]).tolist()
        parts = [inner[i : i + size] for i, size in zip(starts, sizes, strict=False)]
        return parts if isinstance(inner, np.ndarray) else [np.stack(p) for p in parts]


def saved_rows(path: Path) -> Table:
    """Open a data set of Hugging Face's `save_to_disk`."""
    datasets = needed("datasets", "datasets", path)
    try:
        data = datasets.load_from_disk(str(path)).with_format("arrow")
    except Exception as error:
        raise Stop("failed", 2, f"cannot read {path}: {error}") from error
    return Table(path, len(data), lambda indices: data[indices.tolist()])


def parquet_rows(path: Path, folder: Path) -> Table:
    """Write Parquet files to an Arrow file, once, and map it into memory."""
    pa = needed("pyarrow", "pyarrow", path)
    parquet = needed("pyarrow.parquet", "pyarrow", path)
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    try:
        stamp = max(file.stat().st_mtime_ns for file in files)
        mapped = folder / f"{path.stem}-{stamp}.arrow"
        if not mapped.exists():
            partial = mapped.with_suffix(f".{os.getpid()}.partial")
            with pa.ipc.new_file(partial, parquet.read_schema(files[0])) as writer:
                for file in files:
                    for batch in parquet.ParquetFile(file).iter_batches():
                        writer.write_batch(batch)
            os.replace(partial, mapped)
        reader = pa.ipc.open_file(pa.memory_map(str(mapped)))
        batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
    except Exception as error:
        raise Stop("failed", 2, f"cannot read {path}: {error}") from error
    ends = np.cumsum([len(batch) for batch in batches])

    def take(indices: np.ndarray) -> Any:
        of = np.searchsorted(ends, indices, side="right")
        at = indices - ends[of]  # counted from the end of the batch
        rows = zip(of.tolist(), at.tolist(), strict=True)
        slices = [batches[n].slice(len(batches[n]) + i, 1) for n, i in rows]
        return pa.Table.from_batches(slices)

    return Table(path, int(ends[-1]) if len(ends) else 0, take)


class Images:
    """Images in a folder for each class: `images` from 0 to 1, and `labels`."""

    def __init__(self, folder: Path, size: tuple[int, int] | None) -> None:
        self.open = needed("PIL.Image", "pillow", folder).open
        names = sorted(path.name for path in folder.iterdir() if path.is_dir())
        self.classes, self.size = tuple(names), size
        self.shape: tuple[int, ...] = ()  # of every image
        self.files = [
            (path, label)
            for label, name in enumerate(names)
            for path in sorted((folder / name).iterdir())
            if not path.name.startswith(".")
        ]

    def __len__(self) -> int:
        return len(self.files)

    def rows(self, indices: np.ndarray) -> dict[str, Any]:
        chosen = [self.files[index] for index in indices.tolist()]
        images = [self.read(path) for path, _ in chosen]
        labels = [label for _, label in chosen]
        return {"images": np.stack(images), "labels": np.array(labels)}

    def read(self, path: Path) -> np.ndarray:
        """Read an image as float32 [height, width, 3]."""
        try:
            with self.open(path) as file:
                image = file.convert("RGB")
        except Exception as error:  # a damaged file raises any
            raise Stop("failed", 2, f"cannot read {path}: {error}") from error
        if self.size is not None:
            image = image.resize(self.size[::-1])
        array = np.asarray(image, np.float32) / 255
        self.shape = self.shape or array.shape
        if array.shape != self.shape:
            sizes = f"{array.shape[:2]}, not {self.shape[:2]}: set data.size"
            raise Stop("failed", 2, f"{path} has height and width {sizes}")
        return array


def image_rows(folder: Path, size: tuple[int, int] | None) -> Images:
    """Open a folder of images."""
    images = Images(folder, size)
    if not images.files:
        forms = "npy or Parquet files, a saved data set, or a folder for each class"
        raise Stop("failed", 2, f"{folder}: needs {forms}")
    return images
