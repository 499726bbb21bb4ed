"""Worker that runs emitted Paddle steps; see `fuzz.serve`."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import paddle
from paddle import nn

# isort: split
from crosscast.rounding import round_to
from frameworks.paddle_on_cpu import enable_scaler
from fuzz.serve import NAMES, Session, Toy, fitting, serve, walk

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
        self.dense = nn.Linear(*start["kernel"].shape, bias_attr=False)
        self.shift = Shift(*start["bias"].shape)
        self.norm = nn.LayerNorm(*start["gamma"].shape)
        self.table = nn.Embedding(*start["embeddings"].shape)
        for name, parameter in self.toy_parameters().items():
            parameter.set_value(start[name])

    def toy_parameters(self) -> dict[str, Any]:
        own = dict(self.named_parameters())
        return {name: own[path] for name, path in NAMES.items()}


class Rounded(paddle.autograd.PyLayer):  # type: ignore[misc]
    """Rounds to half and back, both ways.

    Not with a cast: on CPUs those of Paddle truncate up to 3.0, and since then they make the
    smallest float16 of a number that is almost zero.
    """

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
            used = parameter.astype("float32")
            if name == "embeddings":
                used = paddle.gather(used, batch["ids"])
            if dtype != "float32":
                used = Rounded.apply(used, dtype)
            total = total + (used * batch[name]).sum()
        return total

    return loss


def start(step: ModuleType, toy: Toy) -> Session:
    model = ToyModel(toy.start)
    optimizer = step.make_optimizer(model)
    scaler = step.make_scaler() if hasattr(step, "make_scaler") else None
    offered = {"model": model, "optimizer": optimizer, "scaler": scaler}
    state = fitting(step.TrainState, offered)
    loss = make_loss(toy.dtype)
    return Session(state, loss, lambda: tensors(state), lambda: counters(state), NAMES)


def tensors(state: Any) -> dict[str, np.ndarray]:
    arrays = {}
    held = state.optimizer.state_dict()
    own = getattr(state.optimizer, "moments", {})
    averages = getattr(state, "average", {})
    for name, parameter in state.model.toy_parameters().items():
        found = {"parameters": parameter, "ema": averages.get(NAMES[name])}
        found |= {slot: held.get(f"{parameter.name}_{end}") for slot, end in SLOTS.items()}
        found |= {slot: moments.get(parameter.name) for slot, moments in own.items()}
        for slot, value in found.items():
            if value is not None:
                arrays[f"{slot}/{name}"] = value.numpy().copy()
    return arrays


def counters(state: Any) -> tuple[int | None, int | None]:
    if hasattr(state, "scaler") and not state.scaler.is_enable():
        raise RuntimeError("the scaler has switched itself off")
    machine = getattr(state, "loss_scale", None)
    return (None, None) if machine is None else (machine.good, machine.bad)


def patterns(step: ModuleType, job: dict[str, Any]) -> dict[str, Any]:
    """Run every pattern of overflows through train_window, with one weight of one number."""
    model = nn.Linear(1, 1, bias_attr=False)
    state = step.TrainState(model, step.make_optimizer(model), step.make_scaler())
    seen: list[Any] = []

    def visit(overflow: bool) -> None:
        batch = {"labels": np.zeros(1), "x": np.float32(np.inf if overflow else 0.0)}
        row = step.train_window(state, [batch], lambda m, b: (m.weight * b["x"]).sum())
        seen.append((row["scale"], row["skipped"], *counters(state)))

    def save() -> Any:
        machine = getattr(state, "loss_scale", None)
        return machine and replace(machine)

    def restore(saved: Any) -> None:
        if saved:
            state.loss_scale = replace(saved)
            state.scaler.set_init_loss_scaling(saved.scale)

    walk(job["length"], visit, save, restore)
    return {"seen": seen}


if __name__ == "__main__":
    warnings.filterwarnings("ignore", "amp_guard can only be enabled")
    enable_scaler()
    serve(start, patterns=patterns)
