"""The data set file that every emitted script reads: four arrays of integers in one `.npz`."""

from __future__ import annotations

import hashlib
import io
import warnings
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from crosscast.data.files import write_files
from crosscast.messages.diagnostics import Collector, Diagnostic, DiagnosticError

Ints = npt.NDArray[np.int32]

ARRAYS = ("input_ids", "attention_mask", "token_type_ids", "labels")
STORED_DTYPE = np.dtype("<i4")
UNLABELLED = -100
"""The label of a row without one; only with `accumulation.normalize_by: token`."""
MOST_PACKED = 200
"""Times that arrays may be larger than their file; arrays of zeros would be 230 to 1000 times."""
MOST_SMALL = 2**30
"""Bytes of arrays that may be packed in any way."""
ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest time stamp of a zip file, so that the bytes depend only on the contents."""


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Encoded rows. n rows of T ids; every array is int32.

    Attributes:
        input_ids: [n, T] word ids, at least 0.
        attention_mask: [n, T] 1 for words, 0 for padding; at least one 1 per row.
        token_type_ids: [n, T] number of the segment, at least 0.
        labels: [n] number of the class, at least 0; -100 for a row without one.
    """

    input_ids: Ints
    attention_mask: Ints
    token_type_ids: Ints
    labels: Ints

    def __len__(self) -> int:
        return len(self.labels)

    def arrays(self) -> dict[str, Ints]:
        """Return the four arrays by name, in the order of the file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def sha256(self) -> dict[str, str]:
        """Return a hash of each array's values (little-endian, row by row), machine-independent."""
        return {
            name: hashlib.sha256(array.astype(STORED_DTYPE).tobytes()).hexdigest()
            for name, array in self.arrays().items()
        }

    def to_bytes(self) -> bytes:
        """Return the contents of the `.npz` file; the same arrays give the same bytes.

        Another zlib may compress differently; compare `sha256` across machines.

        Raises:
            DiagnosticError: CC604 or CC605 if the arrays are not a valid data set.
        """
        check_arrays(dict(self.arrays()), "data set")
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            for name, array in self.arrays().items():
                entry = zipfile.ZipInfo(f"{name}.npy", ZIP_TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.create_system = 3  # else the operating system would be part of the bytes
                entry.external_attr = 0o644 << 16
                member = io.BytesIO()
                stored = np.ascontiguousarray(array, dtype=STORED_DTYPE)
                np.save(member, stored, allow_pickle=False)
                archive.writestr(entry, member.getvalue())
        return buffer.getvalue()

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the file atomically.

        Raises:
            DiagnosticError: CC501 if the file exists and `force` is false, CC502 if it cannot be
                written, CC604 or CC605 if the arrays are not a valid data set.
        """
        write_files({Path(path): self.to_bytes()}, force=force)

    @classmethod
    def load(cls, path: str | Path) -> Dataset:
        """Read and check a data set file; other arrays than the four are ignored.

        Raises:
            DiagnosticError: CC601 (cannot be read), CC602 (not an `.npz` or damaged), CC603 (array
                missing), CC604 (dtype or shape) or CC605 (values).
        """
        return cls.of(read_arrays(Path(path), ARRAYS), str(path))

    @classmethod
    def of(cls, arrays: Mapping[str, Any], name: str) -> Dataset:
        """Return arrays of integers or booleans as int32; `name` is used in messages.

        Raises:
            DiagnosticError: CC603, CC604 or CC605 for each invalid array.
        """
        check_arrays(arrays, name)
        return cls(**{key: arrays[key].astype(np.int32, copy=False) for key in ARRAYS})


def read_arrays(path: Path, names: Collection[str] | None = None) -> dict[str, Any]:
    """Read the arrays of an `.npz` file, or those of these names that it has.

    Raises:
        DiagnosticError: CC601 (cannot be read) or CC602 (not an `.npz` or damaged).
    """
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise _error("CC601", f"{path} cannot be read: it is not a regular file")
        stream = path.open("rb")
    except OSError as error:
        raise _error("CC601", f"{path} cannot be read: {error.strerror or error}") from error
    try:
        with stream, warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy warns about odd headers and reads on
            archive = np.load(stream, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it contains a single array")
            with archive:
                present = [name for name in archive.files if names is None or name in names]
                _check_packed(archive.zip, present, path.stat().st_size)
                if len(present) > len(set(present)):
                    raise ValueError("two arrays have the same name")
                return {name: np.asarray(archive[name]) for name in present}
    # The bytes are untrusted, and zip, zlib, NumPy's header parser and Python's tokenizer each
    # raise their own kinds of errors on damaged ones.
    except Exception as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        hint = "write it with `crosscast data` or with numpy.savez_compressed"
        if isinstance(error, _PackedError):
            hint = "if that is right, write it with numpy.savez, which does not compress"
        message = f"{path} is not a readable .npz data set: {reason}"
        raise _error("CC602", message, hint) from error


class _PackedError(ValueError):
    """Arrays are packed as small as no data can be."""


def _check_packed(archive: zipfile.ZipFile | None, names: Collection[str], packed: int) -> None:
    """Refuse arrays that are packed as small as no data can be, before they are read.

    Raises:
        _PackedError: there are such arrays.
    """
    wanted = {*names, *(f"{name}.npy" for name in names)}
    members = archive.infolist() if archive is not None else ()
    size = sum(member.file_size for member in members if member.filename in wanted)
    if size > max(MOST_SMALL, MOST_PACKED * packed):
        raise _PackedError(f"it unpacks {packed} bytes to {size}")


def check_arrays(arrays: Mapping[str, Any], name: str) -> None:
    """Check names, dtypes, shapes and values; `name` is used in messages.

    Raises:
        DiagnosticError: one CC603, CC604 or CC605 for each invalid array.
    """
    collect = Collector()
    for key in ARRAYS:
        if key not in arrays:
            collect.add(_diagnostic("CC603", f"{name} has no array {key}"))
        elif problem := _layout_problem(key, arrays[key]):
            hint = f"store {key}.astype(numpy.int32)" if "dtype" in problem else ""
            collect.add(_diagnostic("CC604", f"{name}: {key} {problem}", hint))
    collect.raise_errors()
    shapes = {key: arrays[key].shape for key in ARRAYS}
    rows, length = shapes["input_ids"]
    for key, shape in shapes.items():
        expected = (rows,) if key == "labels" else (rows, length)
        if shape != expected:
            text = f"{name}: {key} has shape {shape}, input_ids has {(rows, length)}"
            collect.add(_diagnostic("CC604", text))
    collect.raise_errors()
    for key in ARRAYS:
        if problem := _value_problem(key, arrays[key]):
            collect.add(_diagnostic("CC605", f"{name}: {problem}"))
    collect.raise_errors()


def _layout_problem(key: str, array: Any) -> str:
    dimensions = 1 if key == "labels" else 2
    if array.dtype.kind not in "biu":
        return f"has dtype {array.dtype}, not int32"
    if array.ndim != dimensions:
        return f"has {array.ndim} dimensions, not {dimensions}"
    return "is empty" if array.size == 0 else ""


def _value_problem(key: str, array: npt.NDArray[np.integer[Any]]) -> str:
    if key == "attention_mask":
        if not np.isin(array, (0, 1)).all():
            return _with_row(
                "attention_mask has a value other than 0 and 1", ~np.isin(array, (0, 1))
            )
        empty = array.sum(axis=1) == 0
        return _with_row("attention_mask hides the whole row", empty) if empty.any() else ""
    negative = array < 0
    if key == "labels":
        negative &= array != UNLABELLED
    if negative.any():
        return _with_row(f"{key} has a negative number", negative)
    large = array > np.iinfo(np.int32).max
    return _with_row(f"{key} has a number that is no int32", large) if large.any() else ""


def _with_row(problem: str, wrong: npt.NDArray[np.bool_]) -> str:
    row = int(np.argwhere(wrong)[0][0])
    return f"{problem} (first in row {row}, counted from 0)"


def _diagnostic(code: str, message: str, hint: str = "") -> Diagnostic:
    return Diagnostic(code=code, message=message, hint=hint)


def _error(code: str, message: str, hint: str = "") -> DiagnosticError:
    return DiagnosticError(_diagnostic(code, message, hint))
