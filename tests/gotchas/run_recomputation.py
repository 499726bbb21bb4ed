"""Trains emitted models for one micro-batch: `run_recomputation.py FRAMEWORK FOLDER DTYPE ...`.

Every FOLDER holds model.py, weights.safetensors and batch.npz. Writes the gradients to
FOLDER/DTYPE.npz in the framework's own layout, and prints by FOLDER/DTYPE the loss, the bytes that
are kept for the backward pass, and how often encoder layers were
called before and in the backward pass.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from frameworks.model_job import import_model, load_weights
from gotchas.run_models import CLASSES


def trained(framework: str, folder: Path, dtype: str) -> dict[str, Any]:
    job = importlib.import_module(f"gotchas.recomputation_{framework}")
    module = import_model(folder)
    with np.load(folder / "batch.npz", allow_pickle=False) as file:
        batch = dict(file)
    runners = importlib.import_module(f"frameworks.run_model_{framework}")
    runner = getattr(runners, CLASSES[framework])()
    model = runner.build(module, dtype)
    parameters = load_weights(runner, model, load_file(folder / "weights.safetensors"))
    calls: list[str] = []
    layer = job.layer_class(model) if hasattr(job, "layer_class") else module.EncoderLayer
    method = job.METHOD
    original = getattr(layer, method)

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append("call")
        return original(*args, **kwargs)

    setattr(layer, method, counted)
    found, gradients = job.train(model, parameters, batch, dtype, calls)
    np.savez(folder / f"{dtype}.npz", **gradients)
    return dict(found)


if __name__ == "__main__":
    NAME, PAIRS = sys.argv[1], list(zip(sys.argv[2::2], sys.argv[3::2], strict=True))
    print(json.dumps({f"{f}/{dtype}": trained(NAME, Path(f), dtype) for f, dtype in PAIRS}))
