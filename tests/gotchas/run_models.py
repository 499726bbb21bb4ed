"""Computes with emitted models that may be faulty: `run_models.py FRAMEWORK FOLDER...`.

Every folder holds model.py, weights.safetensors and batch.npz. Prints, by folder, the float32
logits and the types in which operations run under bfloat16.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from frameworks.model_job import import_model, load_weights

CLASSES = {"torch": "Torch", "tensorflow": "TensorFlow", "paddle": "Paddle", "jax": "Jax"}


def compute(adapter: Any, folder: Path) -> dict[str, Any]:
    module = import_model(folder)
    with np.load(folder / "batch.npz", allow_pickle=False) as file:
        batch = dict(file)
    model = adapter.build(module, "float32")
    load_weights(adapter, model, load_file(folder / "weights.safetensors"))
    logits = adapter.logits(model, batch, training=False)
    types = adapter.types(adapter.build(module, "bfloat16"), batch, "bfloat16")
    return {"logits": logits.tolist(), "types": {op: sorted(t) for op, t in types.items()}}


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    NAME = sys.argv[1]
    ADAPTER = getattr(importlib.import_module(f"frameworks.run_model_{NAME}"), CLASSES[NAME])()
    print(json.dumps({folder: compute(ADAPTER, Path(folder)) for folder in sys.argv[2:]}))
