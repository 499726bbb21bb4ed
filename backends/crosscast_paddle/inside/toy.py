"""The toy in Paddle, for emitted scripts, and for a worker that runs emitted steps."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import numpy as np
import paddle
from paddle import nn

# isort: split
from crosscast.reference.rounding import round_to
from crosscast_paddle.inside.on_cpu import enable_scaler
from crosscast_parity.inside.toy import NAMES, Session, Toy, fitting
from crosscast_parity.inside.toy_worker import Action, serve

SLOTS = {
    "exp_avg": "moment1_0",
    "exp_avg_sq": "moment2_0",
    "momentum_buffer": "velocity_0",
}


class Shift(nn.Layer):  # type: ignore[misc]
    """A bias by itself."""

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
        """The parameters by their names in the toy."""
        own = dict(self.named_parameters())
        return {name: own[path] for name, path in NAMES.items()}


class Rounded(paddle.autograd.PyLayer):  # type: ignore[misc]
    """Rounds to half and back, both ways.

    Not with a cast: on CPUs those of Paddle truncate up to 3.0, and since then they make the
    smallest float16 of a number that is almost zero.
    """

    @staticmethod
    def forward(context: Any, x: Any, dtype: Any) -> Any:
        """Round on the way into the loss."""
        context.dtype = dtype
        return paddle.to_tensor(round_to(x.numpy(), dtype))

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        """Round the gradient on its way out."""
        return paddle.to_tensor(round_to(gradient.numpy(), context.dtype))


def make_loss(dtype: str) -> Any:
    """Return the loss of the toy, which computes in that type."""

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
    """Build model and optimizer, and access to their state for the caller."""
    model = make_model(toy)
    optimizer = step.make_optimizer(model)
    scaler = step.make_scaler() if hasattr(step, "make_scaler") else None
    offered = {"model": model, "optimizer": optimizer, "scaler": scaler}
    return watch(fitting(step.TrainState, offered), toy)


def make_model(toy: Toy) -> ToyModel:
    """Return the model with the weights that the toy starts with."""
    return ToyModel(toy.start)


def watch(state: Any, toy: Toy) -> Session:
    """Return access to a state whose model is the toy's."""
    loss = make_loss(toy.dtype)
    return Session(state, loss, lambda: tensors(state), lambda: counters(state), NAMES)


def tensors(state: Any) -> dict[str, np.ndarray]:
    """Copy parameters, moments and averages, by `slot/parameter`."""
    arrays = {}
    held = state.optimizer.state_dict()
    own = getattr(state.optimizer, "moments", {})
    averages = getattr(state, "average", {})
    for name, parameter in state.model.toy_parameters().items():
        by_slot = {"parameters": parameter, "ema": averages.get(NAMES[name])}
        by_slot |= {slot: held.get(f"{parameter.name}_{end}") for slot, end in SLOTS.items()}
        by_slot |= {slot: moments.get(parameter.name) for slot, moments in own.items()}
        for slot, value in by_slot.items():
            if value is not None:
                arrays[f"{slot}/{name}"] = value.numpy().copy()
    return arrays


def counters(state: Any) -> tuple[int | None, int | None]:
    """Return the counts of clean and of overflowed attempts."""
    if hasattr(state, "scaler") and not state.scaler.is_enable():
        raise RuntimeError("the scaler has switched itself off")
    machine = getattr(state, "loss_scale", None)
    return (None, None) if machine is None else (machine.good, getattr(machine, "bad", 0))


def main(**actions: Action) -> None:
    """Serve, with more actions than training windows."""
    warnings.filterwarnings("ignore", "amp_guard can only be enabled")
    enable_scaler()
    serve(start, str(paddle.__version__), actions)


if __name__ == "__main__":
    main()
