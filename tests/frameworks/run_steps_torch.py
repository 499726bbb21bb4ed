"""Drives emitted step.py files with the toy: `run_steps_torch.py FOLDER...`.

Every folder holds step.py and toy.npz. Writes steps.npz into it: parameters and moments after every
window, nan for moments that do not exist yet. Prints the trace rows as JSON, by folder; those of a
folder named `stock` have a key `stock` with what a loop written by hand makes of the same toy.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn

# isort: split
from crosscast_parity.inside.emitted import UNSCALED
from crosscast_parity.inside.toy_worker import import_step
from frameworks.toy_training import SHAPES, load_toy

CPU = torch.device("cpu")
SLOTS = ("exp_avg", "exp_avg_sq", "momentum_buffer", "row_var", "col_var", "variance")
NAMES = {
    "kernel": "dense.weight",
    "bias": "shift.bias",
    "gamma": "norm.weight",
    "beta": "norm.bias",
    "embeddings": "table.weight",
}


class Shift(nn.Module):  # type: ignore[misc]
    def __init__(self, size: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(size))


class ToyModel(nn.Module):  # type: ignore[misc]
    """The toy's parameters in modules of the roles they have; it is never called."""

    def __init__(self, start: dict[str, np.ndarray]) -> None:
        super().__init__()
        rows, columns = SHAPES["kernel"]
        self.dense = nn.Linear(columns, rows, bias=False)
        self.shift = Shift(*SHAPES["bias"])
        self.norm = nn.LayerNorm(*SHAPES["gamma"])
        self.table = nn.Embedding(*SHAPES["embeddings"])
        with torch.no_grad():
            for name, parameter in self.toy_parameters().items():
                parameter.copy_(torch.tensor(start[name]))

    def toy_parameters(self) -> dict[str, nn.Parameter]:
        return {name: self.get_parameter(path) for name, path in NAMES.items()}


def make_loss(dtype: torch.dtype) -> Any:
    def loss(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        total = torch.zeros(())
        for name, parameter in model.toy_parameters().items():
            used = parameter[batch["ids"].long()] if name == "embeddings" else parameter
            total = total + (used.to(dtype).float() * batch[name]).sum()
        return total

    return loss


def scalers(step: ModuleType) -> list[Any]:
    if not hasattr(step, "make_scaler"):
        return []
    if inspect.signature(step.make_scaler).parameters:
        return [step.make_scaler(CPU)]
    return [step.make_scaler()]


def drive(folder: Path) -> dict[str, Any]:
    step = import_step(folder)
    name, start, windows = load_toy(folder)
    model, loss = ToyModel(start), make_loss(getattr(torch, name))
    optimizer = step.make_optimizer(model)
    state = step.TrainState(model, optimizer, CPU, *scalers(step))
    rows, seen = [], []
    for window in windows:
        rows.append(UNSCALED | step.train_window(state, window, loss))
        seen.append(snapshot(model, state))
    arrays = {key: np.stack([step[key] for step in seen]) for key in seen[0]}
    np.savez(folder / "steps.npz", **arrays)  # type: ignore[arg-type]
    return {"rows": rows}


def slot_shape(slot: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of a moment; Adafactor has rows and columns of matrices."""
    if slot in ("row_var", "col_var") and len(shape) > 1:
        return (*shape[:-1], 1) if slot == "row_var" else (*shape[:-2], 1, shape[-1])
    return shape


def snapshot(model: ToyModel, state: Any) -> dict[str, np.ndarray]:
    arrays = {}
    averages = getattr(state, "averages", {})
    for name, parameter in model.toy_parameters().items():
        weight = getattr(parameter, "master", parameter)
        arrays[f"parameters/{name}"] = weight.detach().numpy().copy()
        if parameter in averages:
            arrays[f"ema/{name}"] = averages[parameter].numpy().copy()
        slots = state.optimizer.state.get(weight, {})
        for slot in SLOTS:
            value = slots.get(slot)
            missing = np.full(slot_shape(slot, SHAPES[name]), np.nan, np.float32)
            arrays[f"{slot}/{name}"] = missing if value is None else value.numpy().copy()
    return arrays


def stock_loop(folder: Path) -> list[dict[str, Any]]:
    """The loop that PyTorch's own AMP examples show, with AdamW and clipping to norm 1."""
    _, start, windows = load_toy(folder)
    model, loss_fn = ToyModel(start), make_loss(torch.float16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, weight_decay=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14, growth_interval=3)
    rows: list[dict[str, Any]] = []
    for window in windows:
        scale = scaler.get_scale()
        for micro_batch in window:
            batch = {name: torch.tensor(array) for name, array in micro_batch.items()}
            with torch.autocast("cpu", dtype=torch.float16):
                loss = loss_fn(model, batch) / sum(len(entry["labels"]) for entry in window)
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        weights = {name: p.tolist() for name, p in model.toy_parameters().items()}
        rows.append({"scale": scale, "grad_norm": norm.item(), "weights": weights})
    return rows


def main(folders: list[str]) -> None:
    torch.set_num_threads(1)
    # torch.cuda.amp would leave its scaler out without a GPU; the one it has works on a CPU too.
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    found = {folder: drive(Path(folder)) for folder in folders}
    for folder, entry in found.items():
        if Path(folder).name == "stock":
            entry["stock"] = stock_loop(Path(folder))
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
