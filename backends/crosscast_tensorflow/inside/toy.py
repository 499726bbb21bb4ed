"""The toy in TensorFlow, for emitted scripts, and for a worker that runs emitted steps."""

from __future__ import annotations

import gc
import os
from types import ModuleType
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras

# isort: split
from crosscast_parity.inside.toy import Session, Toy, fitting
from crosscast_parity.inside.toy_worker import Action, serve

LEGACY = os.environ.get("TF_USE_LEGACY_KERAS") == "1"
KERAS3 = not LEGACY and tuple(map(int, tf.__version__.split(".")[:2])) >= (2, 16)
NAME = "path" if KERAS3 else "name"
OWN = ("exp_avg", "exp_avg_sq", "momentum_buffer", "row_var", "col_var", "variance")
STOCK = {"_momentum": "exp_avg", "_velocity": "exp_avg_sq"}
"""How the paths of the moments end in optimizers of Keras."""


class ToyModel(keras.Model):  # type: ignore[misc]  # mypy does not look into Keras
    """The toy's parameters as weights with the names that tell their roles."""

    def __init__(self, toy: Toy) -> None:
        super().__init__()
        for name, array in toy.start.items():
            dtype = "float32" if name in ("gamma", "beta") else toy.weights
            weight = self.add_weight(shape=array.shape, name=name, initializer="zeros", dtype=dtype)
            weight.assign(array.astype(weight.dtype if dtype == "float16" else "float32"))
            setattr(self, name, weight)


def make_loss(dtype: str, names: tuple[str, ...]) -> Any:
    """Return the loss of the toy, which computes in that type."""

    def loss(model: Any, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        total = tf.zeros(())
        for name in names:
            used = tensor(getattr(model, name))
            if name == "embeddings":
                used = tf.gather(used, batch["ids"])
            if dtype != "float32":
                used = tf.cast(tf.cast(used, dtype), tf.float32)
            total += tf.reduce_sum(used * batch[name])
        return total

    return loss


def tensor(variable: Any) -> Any:
    """Return the tensor of a variable, as operations take it."""
    return variable.value if KERAS3 else variable


def start(step: ModuleType, toy: Toy) -> Session:
    """Build model and optimizer, and access to their state for the caller."""
    gc.collect()  # the compiled functions of the last job hang in cycles
    set_policy(step)
    model = make_model(toy)
    optimizer = step.make_optimizer(model)
    return watch(fitting(step.TrainState, {"model": model, "optimizer": optimizer}), toy)


def make_model(toy: Toy) -> ToyModel:
    """Return the model with the weights that the toy starts with."""
    return ToyModel(toy)


def named_parameters(model: ToyModel) -> dict[str, Any]:
    """Return the weights of the model by the names that groups of a recipe tell them by."""
    return {getattr(variable, NAME): variable for variable in model.trainable_variables}


def watch(state: Any, toy: Toy) -> Session:
    """Return access to a state whose model is the toy's."""
    model, optimizer = state.model, state.optimizer
    if toy.weights != "float32":  # as a script does that reads its weights from a file
        for variable, weight in zip(weights(model, optimizer), toy.start.values()):  # noqa: B905
            variable.assign(weight)
        optimizer.publish()
        getattr(state, "start_averages", lambda: None)()
    return Session(
        state,
        make_loss(toy.dtype, tuple(toy.start)),
        lambda: tensors(state, tuple(toy.start)),
        lambda: counters(state),
        {name: getattr(getattr(model, name), NAME) for name in toy.start},
    )


def set_policy(step: ModuleType) -> None:
    """Set the dtype policy of the step; the toys define their types themselves."""
    keras.mixed_precision.set_global_policy(step.DTYPE_POLICY)


def weights(model: Any, optimizer: Any) -> list[Any]:
    """The float32 weights in the order of the model's."""
    return list(optimizer.variables if hasattr(optimizer, "publish") else model.trainable_variables)


def tensors(state: Any, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Copy parameters, moments and averages, by `slot/parameter`."""
    optimizer = state.optimizer
    held = {"parameters": weights(state.model, optimizer), "ema": getattr(state, "averages", ())}
    held.update({slot: getattr(optimizer, slot, ()) for slot in OWN})
    if KERAS3 and isinstance(optimizer, keras.optimizers.Optimizer):
        momentum = isinstance(optimizer, keras.optimizers.SGD)
        for ending, slot in STOCK.items():
            name = "momentum_buffer" if momentum else slot
            held[name] = [v for v in optimizer.variables if v.path.endswith(ending)] or held[name]
    return {
        f"{slot}/{name}": variable.numpy()
        for slot, variables in held.items()
        for name, variable in zip(names, variables)  # noqa: B905
        if variable is not None
    }


def counters(state: Any) -> tuple[int | None, int | None]:
    """Return the counts of clean and of overflowed attempts."""
    machine = getattr(state, "loss_scale", None)
    return (None, None) if machine is None else (machine.good, getattr(machine, "bad", 0))


def main(**actions: Action) -> None:
    """Serve, with more actions than training windows."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    serve(start, str(tf.__version__), actions)


if __name__ == "__main__":
    main()
