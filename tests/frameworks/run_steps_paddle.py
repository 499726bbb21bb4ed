"""Drives emitted step.py files with the toy: `run_steps_paddle.py FOLDER...`.

Every folder holds step.py and toy.npz. Writes steps.npz into it (parameters and moments after every
window, zero for moments that do not exist yet) and prints the trace rows as JSON, by folder.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import paddle
from paddle import nn

# isort: split
from frameworks.paddle_on_cpu import enable_scaler
from frameworks.toy_training import SHAPES, load_toy

SLOTS = {
    "exp_avg": "moment1_0",
    "exp_avg_sq": "moment2_0",
    "momentum_buffer": "velocity_0",
}


class Shift(nn.Layer):  # type: ignore[misc]
    def __init__(self, size: int) -> None:
        super().__init__()
        self.bias = self.create_parameter([size], is_bias=True)


class ToyModel(nn.Layer):  # type: ignore[misc]
    """The toy's parameters in layers of the roles they have; it is never called."""

    def __init__(self, start: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.dense = nn.Linear(*SHAPES["kernel"], bias_attr=False)
        self.shift = Shift(*SHAPES["bias"])
        self.norm = nn.LayerNorm(*SHAPES["gamma"])
        self.table = nn.Embedding(*SHAPES["embeddings"])
        for name, parameter in self.toy_parameters().items():
            parameter.set_value(start[name])

    def toy_parameters(self) -> dict[str, Any]:
        return {
            "kernel": self.dense.weight,
            "bias": self.shift.bias,
            "gamma": self.norm.weight,
            "beta": self.norm.bias,
            "embeddings": self.table.weight,
        }


def make_loss(dtype: str) -> Any:
    def loss(model: Any, batch: dict[str, Any]) -> Any:
        total = paddle.zeros([])
        for name, parameter in model.toy_parameters().items():
            used = model.table(batch["ids"]) if name == "embeddings" else parameter
            if dtype != "float32":
                used = used.astype(dtype).astype("float32")
            total = total + (used * batch[name]).sum()
        return total

    return loss


def import_step(folder: Path) -> ModuleType:
    name = f"step_{folder.name}"
    spec = importlib.util.spec_from_file_location(name, folder / "step.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drive(folder: Path) -> list[dict[str, Any]]:
    step = import_step(folder)
    dtype, start, windows = load_toy(folder)
    model, loss = ToyModel(start), make_loss(dtype)
    optimizer = step.make_optimizer(model)
    scaler = [step.make_scaler()] if hasattr(step, "make_scaler") else []
    state = step.TrainState(model, optimizer, *scaler)
    rows, seen = [], []
    for window in windows:
        rows.append(step.train_window(state, window, loss))
        seen.append(snapshot(model, optimizer))
    assert not scaler or scaler[0].is_enable()
    arrays = {key: np.stack([one[key] for one in seen]) for key in seen[-1]}
    np.savez(folder / "steps.npz", **arrays)  # type: ignore[arg-type]
    return rows


def snapshot(model: ToyModel, optimizer: Any) -> dict[str, np.ndarray]:
    held, arrays = optimizer.state_dict(), {}
    for name, parameter in model.toy_parameters().items():
        arrays[f"parameters/{name}"] = parameter.numpy().copy()
        for slot, suffix in SLOTS.items():
            if f"{parameter.name}_{suffix}" in held:
                arrays[f"{slot}/{name}"] = held[f"{parameter.name}_{suffix}"].numpy().copy()
    return arrays


if __name__ == "__main__":
    warnings.filterwarnings("ignore", "amp_guard can only be enabled")
    enable_scaler()
    print(json.dumps({folder: drive(Path(folder)) for folder in sys.argv[1:]}))
