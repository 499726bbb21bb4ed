"""Print the loss of a micro-batch and the evaluation of emitted scripts, as JSON by folder.

For PyTorch and Paddle: a script's own `to_device` makes tensors.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

OURS = ("train", "runtime", "my_")


def measured(folder: Path) -> dict[str, Any]:
    """Import a script, and return what it computes of the rows beside it."""
    for name in [name for name in sys.modules if name.startswith(OURS)]:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    script: Any = importlib.import_module("train")
    sys.path.remove(str(folder))
    rows = dict(np.load(folder / "rows.npz"))
    model = script.build_model()
    place = [script.torch.device("cpu")] if hasattr(script, "torch") else []
    state = script.TrainState(model, script.make_optimizer(model), *place)
    return {
        "loss": float(script.micro_batch_loss(model, script.to_device(rows, *place))),
        "eval": script.evaluate(state, [rows]),
    }


def main() -> None:
    """Measure all scripts in a folder."""
    folders = sorted(path for path in Path(sys.argv[1]).iterdir() if path.is_dir())
    print(json.dumps({folder.name: measured(folder) for folder in folders}))


if __name__ == "__main__":
    main()
