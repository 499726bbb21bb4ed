"""The toy in JAX, for emitted scripts, and for a worker that runs emitted steps."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

# isort: split
from crosscast_parity.inside.toy import Session, Toy
from crosscast_parity.inside.toy_worker import Action, serve

PATHS = {
    "kernel": ("dense", "kernel"),
    "bias": ("shift", "bias"),
    "gamma": ("norm", "scale"),
    "beta": ("norm", "bias"),
    "embeddings": ("table", "embedding"),
}
"""The toy's parameters and where the model has them."""
SLOTS = {
    "momentum_buffer": "trace",
    "exp_avg": "mu",
    "exp_avg_sq": "nu",
    "row_var": "row_var",
    "col_var": "col_var",
    "variance": "variance",
}
"""Moments as checkpoints call them, and the fields of optax and of the scripts that hold them."""


class Shift(nnx.Module):  # type: ignore[misc]  # mypy does not look into Flax
    """A bias by itself."""

    def __init__(self, size: int) -> None:
        self.bias = nnx.Param(jnp.zeros(size))


class ToyModel(nnx.Module):  # type: ignore[misc]
    """The toy's parameters in modules of the roles they have; it is never called."""

    def __init__(self, start: dict[str, np.ndarray]) -> None:
        rngs = nnx.Rngs(0)
        self.dense = nnx.Linear(*start["kernel"].shape, use_bias=False, rngs=rngs)
        self.shift = Shift(*start["bias"].shape)
        self.norm = nnx.LayerNorm(*start["gamma"].shape, rngs=rngs)
        self.table = nnx.Embed(*start["embeddings"].shape, rngs=rngs)
        for name, variable in parameters(self).items():
            variable.set_value(jnp.asarray(start[name], jnp.float32))


def parameters(model: Any) -> dict[str, Any]:
    """The variables by their names in the toy."""
    return {name: getattr(getattr(model, m), p) for name, (m, p) in PATHS.items()}


def make_loss(dtype: str) -> Any:
    """Return the loss of the toy, which computes in that type."""

    def loss(model: Any, batch: dict[str, Any]) -> Any:
        total = jnp.zeros(())
        for name, variable in parameters(model).items():
            used = variable.get_value()
            if name == "embeddings":
                used = used[batch["ids"]]
            total = total + (used.astype(dtype).astype(jnp.float32) * batch[name]).sum()
        return total

    return loss


def start(step: ModuleType, toy: Toy) -> Session:
    """Build model and state, and access to the state for the caller."""
    return watch(step.start(make_model(toy)), toy)


def make_model(toy: Toy) -> ToyModel:
    """Return the model with the weights that the toy starts with."""
    return ToyModel(toy.start)


def watch(state: Any, toy: Toy) -> Session:
    """Return access to a state whose model is the toy's."""
    names = {name: ".".join(path) for name, path in PATHS.items()}
    loss = make_loss(toy.dtype)
    return Session(state, loss, lambda: tensors(state), lambda: counters(state), names)


def tensors(state: Any) -> dict[str, np.ndarray]:
    """Copy parameters, moments and averages, by `slot/parameter`."""
    own = state.arrays
    trees = {"parameters": own.weights, "ema": getattr(own, "averages", None)}
    trees |= {slot: optax.tree.get(own.optimizer, field) for slot, field in SLOTS.items()}
    arrays = {}
    for slot, tree in trees.items():
        held = {} if tree is None else dict(nnx.to_flat_state(tree))
        for name, path in PATHS.items():
            if path in held and (value := np.array(held[path].get_value())).size:
                arrays[f"{slot}/{name}"] = value
    return arrays


def counters(state: Any) -> tuple[int | None, int | None]:
    """Return the counts of clean and of overflowed attempts."""
    machine = getattr(state, "loss_scale", None)
    return (None, None) if machine is None else (machine.good, getattr(machine, "bad", 0))


def main(**actions: Action) -> None:
    """Serve, with more actions than training windows."""
    jax.config.update("jax_default_matmul_precision", "highest")
    serve(start, jax.__version__, actions)


if __name__ == "__main__":
    main()
