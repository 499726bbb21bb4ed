"""Drives emitted step.py files with the toy: `run_steps_jax.py FOLDER...`.

Every folder holds step.py and toy.npz. Writes steps.npz into it: parameters and moments after every
window. Prints the trace rows as JSON, by folder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

# isort: split
from crosscast_jax.inside.toy import ToyModel, make_loss, tensors
from crosscast_parity.inside.emitted import UNSCALED
from crosscast_parity.inside.toy_worker import import_step
from frameworks.toy_training import load_toy


def drive(folder: Path) -> dict[str, Any]:
    step = import_step(folder)
    name, start, windows = load_toy(folder)
    state, loss = step.start(ToyModel(start)), make_loss(name)
    rows, seen = [], []
    for window in windows:
        rows.append(UNSCALED | step.train_window(state, window, loss))
        seen.append(tensors(state))
    arrays = {key: np.stack([step[key] for step in seen]) for key in seen[0]}
    np.savez(folder / "steps.npz", **arrays)  # type: ignore[arg-type]
    return {"rows": rows}


def main(folders: list[str]) -> None:
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_default_matmul_precision", "highest")
    print(json.dumps({folder: drive(Path(folder)) for folder in folders}))


if __name__ == "__main__":
    main(sys.argv[1:])
