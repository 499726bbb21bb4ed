"""Take a file of torch.save apart. Run as a program, never imported.

    python saved_file.py FILE FOLDER

Reads with `weights_only`, so nothing of the file is executed, and writes into FOLDER tree.json
(what is where) and tensors.safetensors (tensors by number). Half numbers become float32, which
holds all of them. The last line of output is JSON: `{"error": "", "message": ""}`.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

FIRST_SAFE = (2, 6)
"""Before, weights_only could be made to execute code (CVE-2025-32434)."""
MAX_DEPTH = 40
MAX_NODES = 2_000_000
SPARE_BYTES = 2**24
REAL = ("float64", "float32", "int64", "int32", "int16", "int8", "uint8", "bool")
HALF = ("float16", "bfloat16")


class RefusedError(Exception):
    """The file holds what no training state needs."""


class Walk:
    """Turns what was loaded into JSON and numbered tensors."""

    def __init__(self, torch: Any, most_bytes: int) -> None:
        self.torch = torch
        self.left, self.nodes = most_bytes, 0
        self.arrays: dict[str, Any] = {}

    def node(self, value: Any, depth: int = 0) -> dict[str, Any]:
        """Return a value as a node of the tree."""
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise RefusedError("it is nested too deeply, or holds too much")
        if isinstance(value, self.torch.Tensor):
            return self.tensor(value)
        if isinstance(value, dict):
            pairs = [[self.key(k), self.node(v, depth + 1)] for k, v in value.items()]
            return {"kind": "dict", "items": pairs}
        if isinstance(value, (list, tuple)):
            return {"kind": "list", "items": [self.node(item, depth + 1) for item in value]}
        if isinstance(value, float) and not math.isfinite(value):
            return {"kind": "float", "value": repr(value)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return {"kind": "value", "value": value}
        return {"kind": "other", "value": type(value).__name__}

    def key(self, key: Any) -> Any:
        """Return a unique key that JSON can hold."""
        return key if isinstance(key, (str, int)) and not isinstance(key, bool) else repr(key)

    def tensor(self, tensor: Any) -> dict[str, Any]:
        """Keep a plain tensor; others are only named."""
        dtype = str(tensor.dtype).removeprefix("torch.")
        plain = tensor.layout is self.torch.strided and dtype in (*REAL, *HALF)
        if not plain or tensor.device.type != "cpu":
            return {"kind": "other", "value": f"tensor of {dtype}"}
        # A few bytes can claim to be a tensor of any size.
        self.left -= tensor.numel() * tensor.element_size()
        if self.left < 0:
            raise RefusedError("its tensors are larger than the file")
        if dtype in HALF:
            tensor = tensor.float()
        number = str(len(self.arrays))
        self.arrays[number] = tensor.detach().contiguous().numpy()
        return {"kind": "tensor", "value": number, "dtype": dtype}


def main(file: str, folder: str) -> dict[str, str]:
    """Take the file apart; return the kind of error and its message."""
    import torch
    from safetensors.numpy import save_file

    version = tuple(map(int, re.findall(r"\d+", torch.__version__)[:2]))
    if version < FIRST_SAFE:
        return {"error": "old", "message": torch.__version__}
    try:
        loaded = torch.load(file, map_location="cpu", weights_only=True)
        walk = Walk(torch, 4 * Path(file).stat().st_size + SPARE_BYTES)
        tree = walk.node(loaded)
    except RefusedError as error:
        return {"error": "refused", "message": str(error)}
    except Exception as error:  # whatever PyTorch raises for bytes that it does not like
        return {"error": "unreadable", "message": " ".join(str(error).split())[:300]}
    save_file(walk.arrays, Path(folder) / "tensors.safetensors")
    (Path(folder) / "tree.json").write_text(json.dumps(tree))
    return {"error": "", "message": ""}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:3])))
