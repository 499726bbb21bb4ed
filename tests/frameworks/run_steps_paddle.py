"""Drives emitted step.py files with the toy: `run_steps_paddle.py FOLDER...`.

Every folder holds step.py and toy.npz. Writes steps.npz into it (parameters and moments after every
window, zero for moments that do not exist yet) and prints the trace rows as JSON, by folder.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import paddle
from paddle import nn

# isort: split
from crosscast.reference.rounding import round_to
from crosscast_paddle.inside.on_cpu import enable_scaler
from crosscast_parity.inside.emitted import UNSCALED
from crosscast_parity.inside.toy_worker import import_step
from frameworks.toy_training import SHAPES, load_toy

SLOTS = {"exp_avg": "moment1_0", "exp_avg_sq": "moment2_0", "momentum_buffer": "velocity_0"}


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


class Rounded(paddle.autograd.PyLayer):  # type: ignore[misc]
    """Rounds to half and back, both ways. Up to 3.0 the casts of Paddle truncate on CPUs."""

    @staticmethod
    def forward(context: Any, x: Any, dtype: Any) -> Any:
        context.dtype = dtype
        return paddle.to_tensor(round_to(x.numpy(), dtype))

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        return paddle.to_tensor(round_to(gradient.numpy(), context.dtype))


def make_loss(dtype: str) -> Any:
    def loss(model: Any, batch: dict[str, Any]) -> Any:
        total = paddle.zeros([])
        for name, parameter in model.toy_parameters().items():
            used = model.table(batch["ids"]) if name == "embeddings" else parameter
            if dtype != "float32":  # the weights may be half already
                used = Rounded.apply(used.astype("float32"), dtype)
            total = total + (used * batch[name]).sum()
        return total

    return loss


def drive(folder: Path) -> dict[str, Any]:
    step = import_step(folder)
    dtype, start, windows = load_toy(folder)
    model, loss = ToyModel(start), make_loss(dtype)
    optimizer = step.make_optimizer(model)
    scaler = [step.make_scaler()] if hasattr(step, "make_scaler") else []
    state = step.TrainState(model, optimizer, *scaler)
    rows, seen = [], []
    for window in windows:
        rows.append(UNSCALED | step.train_window(state, window, loss))
        with paddle.amp.auto_cast(dtype="bfloat16"):  # as an evaluation may: the scaler stays on
            pass
        seen.append(snapshot(model, state))
    assert not scaler or scaler[0].is_enable()
    last = seen[-1]  # a moment may begin with the first update
    arrays = {key: np.stack([step.get(key, 0 * last[key]) for step in seen]) for key in last}
    np.savez(folder / "steps.npz", **arrays)  # type: ignore[arg-type]
    return {"rows": rows}


def snapshot(model: ToyModel, state: Any) -> dict[str, np.ndarray]:
    arrays = {}
    names = {parameter.name: name for name, parameter in model.named_parameters()}
    for name, parameter in model.toy_parameters().items():
        arrays[f"parameters/{name}"] = parameter.numpy().copy()
        for slot, moment in moments(state.optimizer, parameter).items():
            arrays[f"{slot}/{name}"] = moment.numpy().copy()
        if hasattr(state, "average"):
            arrays[f"ema/{name}"] = state.average[names[parameter.name]].numpy().copy()
    return arrays


def moments(optimizer: Any, parameter: Any) -> dict[str, Any]:
    if hasattr(optimizer, "moments"):  # the script's own
        every = optimizer.moments.items()
        return {slot: held[parameter.name] for slot, held in every if parameter.name in held}
    held = optimizer.state_dict()
    found = {slot: held.get(f"{parameter.name}_{suffix}") for slot, suffix in SLOTS.items()}
    return {slot: moment for slot, moment in found.items() if moment is not None}


if __name__ == "__main__":
    warnings.filterwarnings("ignore", "amp_guard can only be enabled")
    enable_scaler()
    print(json.dumps({folder: drive(Path(folder)) for folder in sys.argv[1:]}))
