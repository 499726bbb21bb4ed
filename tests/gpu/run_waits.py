"""Tells where windows of emitted scripts wait for the GPU: `run_waits.py FOLDER...`.

Every folder holds an emitted train.py, train.npz and eval.npz. PyTorch itself warns of every call
that waits. Prints as JSON, by folder, the places of the calls of each window after the first.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch

# isort: split
from crosscast_parity.inside.script import loaded
from frameworks.run_main import call

WINDOWS = 4


def measure(folder: Path) -> list[list[str]]:
    """Run a script and return the places where its windows waited."""
    found: list[list[str]] = []
    script: Any
    with loaded(folder / "train.py") as script:
        train_window = script.train_window

        def watched(*args: Any) -> Any:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                torch.cuda.set_sync_debug_mode("warn")
                try:
                    row = train_window(*args)
                finally:
                    torch.cuda.set_sync_debug_mode("default")
            told = [w for w in caught if "synchronizing CUDA operation" in str(w.message)]
            found.append([f"{Path(w.filename).name}:{w.lineno}" for w in told])
            return row

        script.train_window = watched
        given = [f"--{name}={folder / name}.npz" for name in ("train", "eval")]
        rare = ["--log-every=1000", "--checkpoint-every=1000", "--device=gpu"]
        end = call(
            script.main, [f"--output={folder / 'run'}", f"--windows={WINDOWS}", *given, *rare]
        )
    assert end["code"] == 0, end
    return found[1:]


if __name__ == "__main__":
    print(json.dumps({folder: measure(Path(folder)) for folder in sys.argv[1:]}))
