"""What the programs `run_example_<framework>.py EXAMPLE FOLDER` share.

EXAMPLE is the folder of an example problem, whose tiny model is looked at. FOLDER holds rows.npz
(what the model takes and `direction`, of the shape of its outputs) and may hold weights.npz. The
program writes FOLDER/<framework>.npz; the names of weights are the framework's own:

- `initial/WEIGHT`: weights of the seed, before those of the file are set;
- `evaluated`: outputs without dropout and with running statistics;
- `outputs`, `gradient/WEIGHT`, `after/WEIGHT`: outputs, gradients of the sum of outputs times
  direction, and weights after a forward pass, in training if FOLDER holds a file `training`.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, Protocol

import numpy as np

Arrays = dict[str, np.ndarray]
SEED = 7


class Adapter(Protocol):
    """What differs between frameworks."""

    name: str

    def seed(self, number: int) -> None: ...

    def weights(self, model: Any) -> Arrays: ...

    def set_weights(self, model: Any, arrays: Arrays) -> None: ...

    def outputs(self, model: Any, rows: Arrays) -> np.ndarray: ...

    def gradients(
        self, model: Any, rows: Arrays, direction: np.ndarray, training: bool
    ) -> tuple[np.ndarray, Arrays]: ...


def run(adapter: Adapter) -> None:
    """Do what the module says."""
    example, folder = (Path(argument) for argument in sys.argv[1:])
    sys.path.insert(0, str(example))
    module = importlib.import_module(f"model_{adapter.name}")
    adapter.seed(SEED)
    model = module.build_tiny()
    found = named("initial", adapter.weights(model))
    if (folder / "weights.npz").exists():
        adapter.set_weights(model, dict(np.load(folder / "weights.npz")))
    rows = dict(np.load(folder / "rows.npz"))
    direction = rows.pop("direction")
    found["evaluated"] = adapter.outputs(model, rows)
    training = (folder / "training").exists()
    found["outputs"], gradients = adapter.gradients(model, rows, direction, training)
    found |= named("gradient", gradients) | named("after", adapter.weights(model))
    np.savez(folder / f"{adapter.name}.npz", **found)  # type: ignore[arg-type]


def named(prefix: str, arrays: Arrays) -> Arrays:
    """Put a prefix before every name."""
    return {f"{prefix}/{name}": array for name, array in arrays.items()}
