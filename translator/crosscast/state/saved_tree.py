"""Contents of a saved state as JSON and numbered tensors, for the process that reads the file.

A backend's `target/saved_file.py` is that process: it writes tree.json (what is where) and
tensors.safetensors (tensors by number) into a folder, where `saved_file` reads them.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

MAX_DEPTH = 40
MAX_NODES = 2_000_000
SPARE_BYTES = 2**24
REAL = ("float64", "float32", "int64", "int32", "int16", "int8", "uint32", "uint8", "bool")
HALF = ("float16", "bfloat16")
TREE, TENSORS = "tree.json", "tensors.safetensors"
Node = dict[str, Any]


class RefusedError(Exception):
    """The file holds what no training state needs, or cannot be read safely.

    Attributes:
        hint: What the user can do about it.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class SavedTree:
    """Turns what was loaded into JSON and numbered tensors. A framework adds its tensors."""

    def __init__(self, file_bytes: int) -> None:
        """Take the size of the file: a few bytes can claim to be a tensor of any size."""
        self.left, self.nodes = 4 * file_bytes + SPARE_BYTES, 0
        self.arrays: dict[str, np.ndarray] = {}

    def tensor(self, value: Any) -> Node | None:
        """Return the node of a tensor; None for a value that is none."""
        raise NotImplementedError

    def node(self, value: Any, depth: int = 0) -> Node:
        """Return a value as a node of the tree.

        Raises:
            RefusedError: for a file that is nested too deeply, or holds too much.
        """
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise RefusedError("it is nested too deeply, or holds too much")
        tensor = self.tensor(value)
        if tensor is not None:
            return tensor
        if isinstance(value, dict):
            pairs = [[_key(k), self.node(v, depth + 1)] for k, v in value.items()]
            return {"kind": "dict", "items": pairs}
        if isinstance(value, list | tuple):
            return {"kind": "list", "items": [self.node(item, depth + 1) for item in value]}
        if isinstance(value, float) and not math.isfinite(value):
            return {"kind": "float", "value": repr(value)}
        if value is None or isinstance(value, bool | int | float | str):
            return {"kind": "value", "value": value}
        return {"kind": "other", "value": type(value).__name__}

    def charge(self, size: int) -> None:
        """Count the bytes of a tensor before they are read.

        Raises:
            RefusedError: for more bytes than such a file can hold.
        """
        self.left -= size
        if self.left < 0:
            raise RefusedError("its tensors are larger than the file")

    def keep(self, array: np.ndarray, dtype: str) -> Node:
        """Keep a tensor, in float32 if its type in the file is a half one."""
        key = str(len(self.arrays))
        self.arrays[key] = array
        return {"kind": "tensor", "value": key, "dtype": dtype}

    def write(self, tree: Node, folder: Path) -> None:
        """Write the tree and its tensors."""
        from safetensors.numpy import save_file

        save_file(self.arrays, folder / TENSORS)
        (folder / TREE).write_text(json.dumps(tree))


def report(take_apart: Callable[[Path, Path], None]) -> None:
    """Take the file of the command line apart; tell how it went as JSON in the last line.

    `error` is empty if it went well.
    """
    error = hint = ""
    try:
        take_apart(Path(sys.argv[1]), Path(sys.argv[2]))
    except RefusedError as refused:
        error, hint = str(refused), refused.hint
    except ImportError:
        raise
    except Exception as unreadable:  # whatever a framework raises for bytes that it does not like
        error = " ".join(str(unreadable).split())[:300] or type(unreadable).__name__
    print(json.dumps({"error": error, "hint": hint}))


def _key(key: Any) -> Any:
    """Return a unique key that JSON can hold."""
    return key if isinstance(key, str | int) and not isinstance(key, bool) else repr(key)
