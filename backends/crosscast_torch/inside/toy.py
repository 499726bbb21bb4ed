"""The toy in PyTorch, for emitted scripts, and for a worker that runs emitted steps."""

from __future__ import annotations

import inspect
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn

# isort: split
from crosscast_parity.inside.toy import NAMES, Session, Toy, fitting
from crosscast_parity.inside.toy_worker import Action, serve

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""A GPU is seen only by workers that are to use it."""


class Shift(nn.Module):  # type: ignore[misc]
    """A bias by itself."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(size))


class ToyModel(nn.Module):  # type: ignore[misc]
    """The toy's parameters in modules of the roles they have; it is never called."""

    def __init__(self, start: dict[str, np.ndarray]) -> None:
        super().__init__()
        rows, columns = start["kernel"].shape
        self.dense = nn.Linear(columns, rows, bias=False)
        self.shift = Shift(*start["bias"].shape)
        self.norm = nn.LayerNorm(*start["gamma"].shape)
        self.table = nn.Embedding(*start["embeddings"].shape)
        with torch.no_grad():
            for name, parameter in self.toy_parameters().items():
                parameter.copy_(torch.tensor(start[name]))

    def toy_parameters(self) -> dict[str, nn.Parameter]:
        """The parameters by their names in the toy."""
        own = dict(self.named_parameters())
        return {name: own[path] for name, path in NAMES.items()}


def make_loss(dtype: torch.dtype) -> Any:
    """Return the loss of the toy, which computes in that type."""

    def loss(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        total = torch.zeros(())
        for name, parameter in model.toy_parameters().items():
            used = parameter[batch["ids"].long()] if name == "embeddings" else parameter
            total = total + (used.to(dtype).float() * batch[name]).sum()
        return total

    return loss


def start(step: ModuleType, toy: Toy) -> Session:
    """Build model and optimizer, and access to their state for the caller."""
    model = make_model(toy).to(DEVICE)
    optimizer = step.make_optimizer(model)
    scaler = make_scaler(step) if hasattr(step, "make_scaler") else None
    offered = {"model": model, "optimizer": optimizer, "device": DEVICE, "scaler": scaler}
    return watch(fitting(step.TrainState, offered), toy)


def make_model(toy: Toy) -> ToyModel:
    """Return the model with the weights that the toy starts with."""
    return ToyModel(toy.start)


def watch(state: Any, toy: Toy) -> Session:
    """Return access to a state whose model is the toy's."""
    loss = make_loss(getattr(torch, toy.dtype))
    # The kernel of fused Adam there holds them so.
    on_gpu = next(state.model.parameters()).is_cuda
    return Session(state, loss, lambda: tensors(state), lambda: counters(state), NAMES, on_gpu)


def make_scaler(step: ModuleType) -> Any:
    """torch.cuda.amp asks for no device."""
    wanted = inspect.signature(step.make_scaler).parameters
    return step.make_scaler(*([DEVICE] if wanted else []))


def tensors(state: Any) -> dict[str, np.ndarray]:
    """Copy parameters, moments and averages, by `slot/parameter`."""
    arrays = {}
    for name, parameter in state.model.toy_parameters().items():
        weight = getattr(parameter, "master", parameter)
        held = {"parameters": weight, **state.optimizer.state.get(weight, {})}
        average = getattr(state, "averages", {}).get(parameter)
        for slot, value in (held | {"ema": average}).items():
            # Some versions fill in slots with None, and count in a plain number.
            if slot != "step" and isinstance(value, torch.Tensor):
                arrays[f"{slot}/{name}"] = np.array(value.detach().cpu())
    return arrays


def counters(state: Any) -> tuple[int | None, int | None]:
    """Return the counts of clean and of overflowed attempts."""
    if hasattr(state, "loss_scale"):
        return state.loss_scale.good, state.loss_scale.bad
    if hasattr(state, "scaler"):
        return state.scaler.state_dict()["_growth_tracker"], None
    return None, None


def main(**actions: Action) -> None:
    """Serve, with more actions than training windows."""
    torch.set_num_threads(1)
    # torch.cuda.amp would leave its scaler out without a GPU; the one it has works on a CPU too.
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    torch.cuda.is_bf16_supported = lambda *_: True
    warnings.filterwarnings("ignore", ".*CUDA is not available")
    warnings.filterwarnings("ignore", r".*torch\.cuda\.amp", FutureWarning)
    serve(start, str(torch.__version__), actions)


if __name__ == "__main__":
    main()
