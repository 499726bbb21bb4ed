"""Read rows from Arrow, Parquet and images, each by a library of its own."""

from __future__ import annotations

import hashlib
import importlib
import os
import uuid
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import compare_kinds
from .settings import Stop, regular


def needed(library: str, package: str, path: Path) -> Any:
    """Import a library, or say what needs it."""
    try:
        return importlib.import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library.partition(".")[0]:
            raise
        message = f"{path} needs {package}: pip install {package}"
        raise Stop("cannot_run", 3, message) from None


def visible(folder: Path, pattern: str = "*") -> list[Path]:
    """Return what a folder holds, in order, but for hidden files."""
    found = sorted(folder.glob(pattern))
    return [path for path in found if not path.name.startswith(".")]


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
        if isinstance(inner, list):
            if len(set(map(len, inner))) > 1:
                message = f"inner lists of `{name}` vary in length"
                raise Stop("failed", 2, f"{self.name}: {message}")
            inner = np.stack(inner) if inner else np.zeros((0, 0))
        if hasattr(column.type, "list_size"):  # the same for all rows
            return inner.reshape(len(column), column.type.list_size, *inner.shape[1:])
        return np.split(inner, np.cumsum(column.value_lengths())[:-1])


def number_type(pa: Any, held: Any) -> Any:
    """Return a type of numbers or lists of them without its flags; None for others."""
    types = pa.types
    if types.is_integer(held) or types.is_floating(held) or types.is_boolean(held):
        return held
    fixed, large = types.is_fixed_size_list(held), types.is_large_list(held)
    if not (fixed or large or types.is_list(held)):
        return None
    inner = number_type(pa, held.value_type)
    if inner is None or large:
        return inner and pa.large_list(inner)
    return pa.list_(inner, held.list_size if fixed else -1)


def number_columns(
    pa: Any, path: Path, columns: Any, names: Collection[str] | None
) -> dict[str, Any]:
    """Return the types of the columns with these names, or of all, as numbers."""
    found: dict[str, Any] = {}
    for column in columns:
        name = column.name
        if names is not None and name not in names:
            continue
        if name in found:
            raise Stop("failed", 2, f"{path}: two columns are called `{name}`")
        found[name] = number_type(pa, column.type)
        if found[name] is None:
            held = f"`{name}` holds {column.type}, no numbers"
            raise Stop("failed", 2, f"{path}: {held}")
    if not found:
        raise Stop("failed", 2, f"{path}: has none of the columns {names or ''}")
    return found


def saved_rows(path: Path, names: Collection[str] | None) -> Table:
    """Open a data set of Hugging Face's `save_to_disk`."""
    datasets = needed("datasets", "datasets", path)
    pa = needed("pyarrow", "pyarrow", path)
    try:
        data = datasets.load_from_disk(str(path))
    except Exception as error:
        raise Stop("failed", 2, f"cannot read {path}: {error}") from error
    if isinstance(data, dict):
        message = f"holds several data sets: name the folder of one, {', '.join(data)}"
        raise Stop("failed", 2, f"{path} {message}")
    columns = number_columns(pa, path, data.features.arrow_schema, names)
    data = data.select_columns(list(columns)).with_format("arrow")
    return Table(path, len(data), lambda indices: data[indices.tolist()])


def parquet_rows(path: Path, names: Collection[str] | None, folder: Path) -> Table:
    """Write Parquet files to an Arrow file, once, and map it into memory."""
    pa = needed("pyarrow", "pyarrow", path)
    needed("pyarrow.parquet", "pyarrow", path)
    files = visible(path, "*.parquet") if path.is_dir() else [path]
    if not files:
        raise Stop("failed", 2, f"{path}: needs Parquet files")
    try:
        facts: list[Any] = [sorted(names or ())]
        for file in files:
            stat = regular(file).stat()
            facts.append((str(file.resolve()), stat.st_size, stat.st_mtime_ns))
        digest = hashlib.sha256(repr(facts).encode()).hexdigest()
        mapped = folder / f"{path.stem}-{digest[:16]}.arrow"
        if not mapped.exists():
            write_arrow(pa, files, names, mapped)
        reader = pa.ipc.open_file(pa.memory_map(str(mapped)))
        batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
    except Stop:
        raise
    except Exception as error:  # a damaged file raises any
        raise Stop("failed", 2, f"cannot read {path}: {error}") from error
    starts = np.cumsum([0, *(len(batch) for batch in batches)])

    def take(indices: np.ndarray) -> Any:
        of = np.searchsorted(starts, indices, side="right") - 1
        at = indices - starts[of]
        rows = zip(of.tolist(), at.tolist(), strict=True)
        return pa.Table.from_batches([batches[n].slice(i, 1) for n, i in rows])

    return Table(path, int(starts[-1]), take)


def write_arrow(
    pa: Any, files: list[Path], names: Collection[str] | None, mapped: Path
) -> None:
    """Write Parquet files to an Arrow file, which appears once it is whole."""
    first = number_columns(pa, files[0], pa.parquet.read_schema(files[0]), names)
    schema = pa.schema(list(first.items()))
    # Several processes may do so at once.
    partial = mapped.with_suffix(f".{uuid.uuid4().hex}.partial")
    try:
        with pa.ipc.new_file(partial, schema) as writer:
            for path in files:
                with pa.parquet.ParquetFile(path) as file:
                    found = number_columns(pa, path, file.schema_arrow, names)
                    compare_kinds(path, found, first, str(files[0]))
                    for batch in file.iter_batches(1024, columns=list(first)):
                        columns = [batch[n].cast(held) for n, held in first.items()]
                        writer.write_batch(pa.record_batch(columns, schema=schema))
        os.replace(partial, mapped)
    finally:
        partial.unlink(missing_ok=True)


class Images:
    """Images in a folder for each class: `images` from 0 to 1, and `labels`."""

    def __init__(self, folder: Path, size: tuple[int, int] | None) -> None:
        self.pil = needed("PIL.Image", "pillow", folder)
        self.folder, self.size = folder, size
        self.shape: tuple[int, ...] = ()  # of every image
        self.classes = [path.name for path in visible(folder) if path.is_dir()]
        self.names: list[str] = []  # paths would take several times their memory
        labels: list[int] = []
        known = self.pil.registered_extensions()
        for label, name in enumerate(self.classes):
            for path in visible(folder / name):
                if path.suffix.lower() not in known:
                    raise Stop("failed", 2, f"{path} is no image")
                self.names.append(path.name)
                labels.append(label)
        self.labels = np.array(labels)

    def __len__(self) -> int:
        return len(self.names)

    def rows(self, indices: np.ndarray) -> dict[str, Any]:
        labels = self.labels[indices]
        folders = [self.folder / self.classes[label] for label in labels.tolist()]
        names = [self.names[index] for index in indices.tolist()]
        images = [self.read(path / n) for path, n in zip(folders, names, strict=True)]
        return {"images": np.stack(images), "labels": labels}

    def read(self, path: Path) -> np.ndarray:
        """Read an image as float32 [height, width, 3]."""
        try:
            with self.pil.open(regular(path)) as file:
                deep = file.mode.startswith(("I", "F"))
                image = file.convert("RGBA") if file.mode == "P" else file
                image = image.convert("RGB")
        except Exception as error:  # a damaged file raises any
            raise Stop("failed", 2, f"cannot read {path}: {error}") from error
        if deep:  # converted, what is above 255 would be white
            raise Stop("failed", 2, f"{path} has more than 8 bits a channel")
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
    images = Images(folder, size) if folder.is_dir() else ()
    if not images:
        raise Stop("failed", 2, f"{folder}: needs a folder for each class, with images")
    return images
