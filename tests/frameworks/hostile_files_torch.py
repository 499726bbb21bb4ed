"""Writes files that torch.save could have written, and should not be trusted: `... FOLDER`."""

from __future__ import annotations

import json
import pickle
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import torch


class Bomb:
    """What runs code when it is unpickled."""

    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self) -> Any:
        return Path.touch, (self.proof,)


def main(folder: Path) -> list[str]:
    """Write them; return their names."""
    proof = folder / "executed"
    nested: dict[str, Any] = {}
    for _ in range(200):
        nested = {"a": nested}
    files: dict[str, Any] = {
        "bomb.pt": {"model": OrderedDict(w=torch.ones(2)), "x": Bomb(proof)},
        "wide.pt": {"model": {"w": torch.ones(1).expand(10**12)}, "optimizer": {}},
        "deep.pt": {"model": nested, "optimizer": {}},
        "flat.pt": {"w": torch.ones(2)},
    }
    for name, value in files.items():
        torch.save(value, folder / name)
    (folder / "pickle.pt").write_bytes(pickle.dumps(Bomb(proof)))
    whole = (folder / "flat.pt").read_bytes()
    (folder / "cut.pt").write_bytes(whole[: len(whole) // 2])
    odd = {"model": {"w": torch.ones(2), "s": torch.eye(2).to_sparse()}, "optimizer": {}}
    torch.save(odd, folder / "sparse.pt")
    (folder / "flat.pt").unlink()
    return sorted(path.name for path in folder.iterdir())


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
