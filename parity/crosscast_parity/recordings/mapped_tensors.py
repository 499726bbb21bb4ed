"""A safetensors file whose float32 tensors are views of the file: reading one copies nothing."""

from __future__ import annotations

import json
import mmap
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open

PREFIX = 8
"""Bytes before the header, which hold its length."""


class MappedFile:
    """What `safe_open` gives, with tensors that cannot be written to.

    Raises:
        OSError, SafetensorError: it cannot be read, or its header contradicts itself or the file.
    """

    def __init__(self, path: Path) -> None:
        checked = safe_open(path, framework="numpy")  # looks at every offset of the header
        self.keys, self.metadata, self.get_slice = checked.keys, checked.metadata, checked.get_slice
        with path.open("rb") as stream:
            mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        start = PREFIX + int.from_bytes(mapped[:PREFIX], "little")
        self._header: dict[str, Any] = json.loads(mapped[PREFIX:start])
        self._data = np.frombuffer(mapped, np.uint8)[start:]

    def get_tensor(self, key: str) -> np.ndarray:
        """Return a tensor that was checked to be float32."""
        entry = self._header[key]
        begin, end = entry["data_offsets"]
        return self._data[begin:end].view("<f4").reshape(entry["shape"])
