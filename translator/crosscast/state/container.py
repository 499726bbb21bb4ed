"""Read an untrusted safetensors file: the complete header strictly, the arrays lazily.

The file is 8 bytes with the length of a JSON header (little endian), the header, then the data of
all tensors. Every tensor must be inside the file, with the number of bytes of its dtype and shape;
together they must cover the data without gaps and overlaps.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosscast.messages.diagnostics import Collector, Diagnostic, failure
from crosscast.state.problems import DamagedError, several, strict_json

if TYPE_CHECKING:
    import numpy as np

MAX_HEADER = 32 * 2**20
MAX_NAME = 400
MAX_DIMENSIONS = 16
NUMPY_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
"""Dtypes of safetensors that exist in NumPy; emitted scripts write no others."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """Location of a tensor: dtype, shape, and byte range relative to the end of the header."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Container:
    """A safetensors file with a valid header."""

    path: Path
    tensors: dict[str, Tensor]
    metadata: dict[str, str]
    data: memoryview = field(repr=False)

    def array(self, name: str) -> np.ndarray:
        """Return a tensor, read-only and memory-mapped."""
        import numpy as np

        tensor = self.tensors[name]
        kind = np.dtype(NUMPY_TYPES[tensor.dtype])
        flat = np.frombuffer(self.data[tensor.start : tensor.stop], kind)
        return flat.reshape(tensor.shape)


def open_container(path: Path) -> Container:
    """Open a safetensors file.

    Raises:
        DiagnosticError: CC001-CC003 for a file that cannot be read, CC960 for all problems in its
            contents.
    """
    content = _mapped(path)
    header, begin = _header(path, content)
    metadata = header.pop("__metadata__", {})
    collect = Collector()
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        collect.add(_problem(f"{path}: its metadata values are not strings"))
        metadata = {}
    tensors: dict[str, Tensor] = {}
    wrong = []
    for name, entry in header.items():
        try:
            tensors[name] = _tensor(name, entry)
        except DamagedError as error:
            wrong.append(f"{path}: tensor {name[:MAX_NAME]!r}: {error}")
    collect.diagnostics += several("CC960", wrong)
    if not wrong:
        _check_cover(path, tensors, len(content) - begin, collect)
    collect.raise_errors()
    return Container(path, tensors, metadata, content[begin:])


def is_safetensors(path: Path) -> bool:
    """Whether a file begins like a safetensors file: a length, then a JSON object."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            head = file.read(9)
    except OSError:
        return False
    return len(head) == 9 and head[8:] == b"{" and int.from_bytes(head[:8], "little") < 2**40


def _problem(message: str) -> Diagnostic:
    return Diagnostic(code="CC960", message=message)


def _mapped(path: Path) -> memoryview:
    """Return the bytes of a file, memory-mapped unless it is empty."""
    try:
        if not path.exists():
            raise failure("CC001", f"{path}: no such file")
        if not path.is_file():
            raise failure("CC002", f"{path}: not a regular file")
        with path.open("rb") as file:
            if not path.stat().st_size:
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise failure("CC003", f"{path}: {reason}") from None


def _header(path: Path, content: memoryview) -> tuple[dict[str, Any], int]:
    """Return the header and the offset of the data."""
    if len(content) < 10:
        raise failure("CC960", f"{path}: {len(content)} bytes are too few for a safetensors file")
    length = int.from_bytes(content[:8], "little")
    if length > MAX_HEADER:
        raise failure("CC960", f"{path}: unexpected header length of {length} bytes")
    if length > len(content) - 8:
        raise failure("CC960", f"{path}: truncated in its header")
    try:
        header = strict_json(bytes(content[8 : 8 + length]).decode("utf-8"))
    except UnicodeDecodeError:
        raise failure("CC960", f"{path}: its header is not UTF-8") from None
    except DamagedError as error:
        raise failure("CC960", f"{path}: its header is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise failure("CC960", f"{path}: its header is not a JSON object")
    return header, 8 + length


def _tensor(name: str, entry: Any) -> Tensor:
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise DamagedError("not a valid name of a weight")
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise DamagedError("needs exactly dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in NUMPY_TYPES:
        raise DamagedError(f"unsupported dtype {str(dtype)[:40]!r}")
    if not _whole_numbers(shape) or len(shape) > MAX_DIMENSIONS:
        raise DamagedError("its shape is not a short list of integers")
    if not _whole_numbers(offsets) or len(offsets) != 2:
        raise DamagedError("data_offsets are not two integers")
    size = prod(shape) * int(NUMPY_TYPES[dtype][2:])
    if offsets[1] - offsets[0] != size:
        raise DamagedError(f"{dtype} of shape {shape} needs {size} bytes")
    return Tensor(dtype, tuple(shape), *offsets)


def _whole_numbers(value: Any) -> bool:
    """Whether a value is a list of non-negative integers in a plausible range."""
    return isinstance(value, list) and all(
        type(number) is int and 0 <= number < 2**60 for number in value
    )


def _check_cover(path: Path, tensors: dict[str, Tensor], size: int, collect: Collector) -> None:
    """Check that the tensors cover every byte of the data exactly once."""
    reached = 0
    for tensor in sorted(tensors.values(), key=lambda tensor: (tensor.start, tensor.stop)):
        if tensor.start != reached:
            fault = "overlap" if tensor.start < reached else "leave gaps"
            collect.add(_problem(f"{path}: its tensors {fault}"))
            return
        reached = tensor.stop
    if reached > size:
        collect.add(_problem(f"{path}: truncated: {size} bytes of data instead of {reached}"))
    elif reached < size:
        collect.add(_problem(f"{path}: {size - reached} bytes after its last tensor"))
