"""Take a file of torch.save apart. Run as a program: `saved_file.py FILE FOLDER`.

Reads with `weights_only`, so nothing of the file is executed. Half numbers become float32, which
holds all of them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from crosscast.state.saved_tree import HALF, REAL, Node, RefusedError, SavedTree, report

FIRST_SAFE = (2, 6)
"""Before, weights_only could be made to execute code (CVE-2025-32434)."""
_HINT = "save state dictionaries: torch.save({'model': model.state_dict(), ...}, path)"


class TorchTree(SavedTree):
    """A tree with PyTorch's tensors."""

    def tensor(self, value: Any) -> Node | None:
        """Keep a plain tensor; others are only named."""
        import torch

        if not isinstance(value, torch.Tensor):
            return None
        dtype = str(value.dtype).removeprefix("torch.")
        plain = value.layout is torch.strided and dtype in (*REAL, *HALF)
        if not plain or value.device.type != "cpu":
            return {"kind": "other", "value": f"tensor of {dtype}"}
        self.charge(value.numel() * value.element_size())
        wide = value.float() if dtype in HALF else value
        return self.keep(wide.detach().contiguous().numpy(), dtype)


def take_apart(file: Path, folder: Path) -> None:
    """Write the contents of the file into the folder.

    Raises:
        RefusedError: for a file or a PyTorch that cannot be trusted.
    """
    import torch

    version = tuple(map(int, re.findall(r"\d+", torch.__version__)[:2]))
    if version < FIRST_SAFE:
        message = f"torch {torch.__version__} is too old to read untrusted files"
        raise RefusedError(message, hint="update it to 2.6 or newer")
    try:
        loaded = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # whatever PyTorch raises for bytes that it does not like
        raise RefusedError(" ".join(str(error).split())[:300], _HINT) from None
    tree = TorchTree(file.stat().st_size)
    tree.write(tree.node(loaded), folder)


if __name__ == "__main__":
    report(take_apart)
