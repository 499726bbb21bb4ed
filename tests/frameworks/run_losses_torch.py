"""Print the loss of a micro-batch and the evaluation of emitted scripts, as JSON by folder."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

OURS = ("train", "runtime", "my_")


def measured(folder: Path) -> dict[str, Any]:
    """Import a script, and return what it computes of the rows beside it."""
    for name in [name for name in sys.modules if name.startswith(OURS)]:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    script: Any = importlib.import_module("train")
    sys.path.remove(str(folder))
    rows = dict(np.load(folder / "rows.npz"))
    device = torch.device("cpu")
    model = script.build_model()
    batch = {name: torch.from_numpy(array) for name, array in rows.items()}
    state = script.TrainState(model, script.make_optimizer(model), device)
    return {
        "loss": float(script.micro_batch_loss(model, batch)),
        "eval": script.evaluate(state, rows),
    }


def main() -> None:
    """Measure all scripts in a folder."""
    folders = sorted(path for path in Path(sys.argv[1]).iterdir() if path.is_dir())
    print(json.dumps({folder.name: measured(folder) for folder in folders}))


if __name__ == "__main__":
    main()
