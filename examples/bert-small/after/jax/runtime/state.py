"""The state of a run as arrays by name, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from .settings import Settings, Stop

TrainState = Any  # of train.py: graph, arrays, counters, and a loss scale
Arrays = dict[str, np.ndarray]
Path = tuple[str | int, ...]
SLOTS = {  # name in files: field in the states of optax
    "momentum_buffer": "trace",
    "exp_avg": "mu",
    "exp_avg_sq": "nu",
    "row_var": "row_var",
    "col_var": "col_var",
    "variance": "variance",
}


def check_model(model: nnx.Module) -> None:
    """Refuse a model that cannot be trained."""
    if not jax.tree.leaves(nnx.state(model, nnx.Param)):  # nothing would be trained
        raise Stop("failed", 2, "the model has no nnx.Param: nothing would be trained")


def reseeded(rest: nnx.State, seed: int, window: jax.Array) -> nnx.State:
    """Give every stream of random numbers a key that depends on these alone."""
    key = jax.random.fold_in(jax.random.key(seed), window)
    flat = []
    for number, (path, variable) in enumerate(nnx.to_flat_state(rest)):
        if isinstance(variable, nnx.RngKey):
            variable = variable.replace(jax.random.fold_in(key, number))
        elif isinstance(variable, nnx.RngCount):
            variable = variable.replace(jnp.zeros_like(variable.get_value()))
        flat.append((path, variable))
    return nnx.from_flat_state(flat)


def named_parameters(model: nnx.Module) -> dict[str, nnx.Param]:
    """Trained weights by their names in files."""
    weights = nnx.to_flat_state(nnx.state(model, nnx.Param))
    return {name_of(model, path): variable for path, variable in weights}


def name_of(model: nnx.Module, path: Path) -> str:
    """The canonical name, or that in the model."""
    return getattr(model, "canonical_name", lambda p: ".".join(map(str, p)))(path)


def layout_of(model: nnx.Module) -> Callable[[str, np.ndarray], np.ndarray]:
    """Return what converts between the model's layout and that of files."""
    return getattr(model, "canonical_layout", lambda name, array: array)


def held(model: nnx.Module, tree: nnx.State) -> Iterator[tuple[Path, str, Any]]:
    """Yield path, name in files and variable, but for random numbers."""
    for path, variable in nnx.to_flat_state(tree):
        if not isinstance(variable, nnx.RngState):
            yield path, name_of(model, path), variable


def to_arrays(model: nnx.Module, tree: nnx.State) -> Arrays:
    """Values by name, in the layout of files."""
    exchange = layout_of(model)
    return {
        name: exchange(name, np.asarray(variable.get_value()))
        for _, name, variable in held(model, tree)
    }


def from_arrays(model: nnx.Module, tree: nnx.State, arrays: Arrays) -> nnx.State:
    """The same tree with these values."""
    exchange, flat = layout_of(model), dict(nnx.to_flat_state(tree))
    for path, name, variable in held(model, tree):
        old = variable.get_value()
        new = exchange(name, arrays[name])
        flat[path] = variable.replace(jnp.asarray(new, old.dtype).reshape(old.shape))
    return nnx.from_flat_state(flat.items())


def model_arrays(state: TrainState) -> Arrays:
    """Weights and running statistics by name, in the layout of files."""
    model, arrays = state.model, state.arrays
    return to_arrays(model, arrays.weights) | to_arrays(model, arrays.rest)


def restore_model(state: TrainState, arrays: Arrays) -> None:
    """Overwrite weights and statistics, and the averages that have not begun."""
    model, own = state.model, state.arrays
    own.weights = from_arrays(model, own.weights, arrays)
    own.rest = from_arrays(model, own.rest, arrays)
    if hasattr(own, "averages") and not state.windows:
        own.averages = jax.tree.map(jnp.copy, own.weights)


def ema_arrays(state: TrainState) -> Arrays:
    """Averages of the weights by name, in the layout of files."""
    return to_arrays(state.model, state.arrays.averages)


def restore_ema(state: TrainState, arrays: Arrays) -> None:
    """Overwrite the averages."""
    own = state.arrays
    own.averages = from_arrays(state.model, own.averages, arrays)


def optimizer_arrays(state: TrainState) -> Arrays:
    """Moments as `slot/name`."""
    model, found = state.model, {}
    exchange = layout_of(model)
    for slot, field in SLOTS.items():
        moments = optax.tree.get(state.arrays.optimizer, field, nnx.State({}))
        arrays = to_arrays(model, moments)
        for name in named_parameters(model):
            if name in arrays and arrays[name].size:  # Adafactor has two or one
                found[f"{canonical_slot(exchange, name, slot)}/{name}"] = arrays[name]
    return found


def restore_optimizer(state: TrainState, arrays: Arrays, settings: Settings) -> None:
    """Overwrite the moments and the number of updates."""
    model, own = state.model, state.arrays
    for slot, field in SLOTS.items():
        moments = optax.tree.get(own.optimizer, field)
        if moments is None:
            continue
        flat = dict(nnx.to_flat_state(moments))
        exchange = layout_of(model)
        for path, name, variable in held(model, moments):
            if variable.get_value().size:
                array = arrays[f"{canonical_slot(exchange, name, slot)}/{name}"]
                flat[path] = variable.replace(jnp.asarray(exchange(name, array)))
        new = nnx.from_flat_state(flat.items())
        own.optimizer = optax.tree.set(own.optimizer, **{field: new})
    if optax.tree.get(own.optimizer, "count") is not None:
        count = jnp.asarray(state.updates, jnp.int32)
        own.optimizer = optax.tree.set(own.optimizer, count=count)


def canonical_slot(exchange: Callable[..., np.ndarray], name: str, slot: str) -> str:
    """Rows of a dense kernel are columns in the layout of files, and vice versa."""
    turned = exchange(name, np.empty((1, 2))).shape == (2, 1)
    other = {"row_var": "col_var", "col_var": "row_var"}
    return other.get(slot, slot) if turned else slot


def scaler_counters(state: TrainState) -> dict[str, Any]:
    """The loss scale and its counters."""
    machine = getattr(state, "loss_scale", None)
    if machine is None:
        return {}
    bad = getattr(machine, "bad", 0)  # a scale that backs off at once counts none
    return {"scale": machine.scale, "good": machine.good, "bad": bad}


def restore_scaler(state: TrainState, counters: dict[str, Any]) -> None:
    """Overwrite the loss scale and its counters."""
    machine = getattr(state, "loss_scale", None)
    if machine is not None:
        machine.scale, machine.good = counters["scale"], counters["good"]
        if hasattr(machine, "bad"):
            machine.bad = counters["bad"]
