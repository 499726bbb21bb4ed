"""Worker that runs emitted steps of toygrad on the harness's toy; see `serve`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import toygrad
from toygrad import Module, Parameter, Tensor

# isort: split
from crosscast_parity.inside.toy import Arrays, Session, Toy
from crosscast_parity.inside.toy_worker import serve

NAMES = {
    "kernel": "dense.weight",
    "bias": "shift.bias",
    "gamma": "LayerNorm.weight",
    "beta": "LayerNorm.bias",
    "embeddings": "table_embeddings.weight",
}
"""The toy's parameters, and names that tell an emitted step their roles."""


class Weights(Module):
    """Parameters by name."""

    def __init__(self, **arrays: np.ndarray) -> None:
        vars(self).update({name: Parameter(array) for name, array in arrays.items()})


class ToyModel(Module):
    """The toy's parameters; it is never called."""

    def __init__(self, start: Arrays) -> None:
        self.dense = Weights(weight=start["kernel"])
        self.shift = Weights(bias=start["bias"])
        self.LayerNorm = Weights(weight=start["gamma"], bias=start["beta"])
        self.table_embeddings = Weights(weight=start["embeddings"])


def loss(model: Module, batch: Arrays) -> Tensor:
    """Return the loss of the toy: every weight times its own gradient."""
    total, parameters = Tensor(0.0), model.parameters()
    for name, path in NAMES.items():
        weight = parameters[path]
        used = weight[batch["ids"]] if name == "embeddings" else weight
        total = total + (used * batch[name]).sum()
    return total


def start(step: ModuleType, toy: Toy) -> Session:
    """Build model and optimizer, and access to their state for the caller."""
    model = make_model(toy)
    return watch(step.TrainState(model, step.make_optimizer(model)), toy)


def make_model(toy: Toy) -> ToyModel:
    """Return the model with the weights that the toy starts with."""
    return ToyModel(toy.start)


def watch(state: Any, toy: Toy) -> Session:
    """Return access to a state whose model is the toy's."""
    return Session(state, loss, lambda: tensors(state), lambda: (None, None), NAMES)


def tensors(state: Any) -> Arrays:
    """Copy parameters and moments, by `slot/parameter`."""
    arrays: Arrays = {}
    parameters = state.model.parameters()
    for name, path in NAMES.items():
        weight = parameters[path]
        held = {"parameters": weight.data, **state.optimizer.state.get(weight, {})}
        arrays |= {f"{slot}/{name}": array.copy() for slot, array in held.items()}
    return arrays


if __name__ == "__main__":
    serve(start, toygrad.__version__, {})
