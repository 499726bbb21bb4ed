"""The state of a run as arrays by name, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .settings import Settings, Stop

TrainState = Any  # of train.py: model, optimizer, counters, loss scale, averages
Arrays = dict[str, np.ndarray]
SLOTS = ("momentum_buffer", "exp_avg", "exp_avg_sq", "row_var", "col_var", "variance")
STOCK_SLOTS = {"SGD": "momentum_buffer", "Lion": "exp_avg"}  # of the classes of Keras


def check_model(model: Any) -> None:
    """Refuse a model that cannot be trained or saved."""
    if not model.trainable_variables:  # nothing would be trained, in silence
        message = "the model has no weights yet: build_model() must call it once"
        raise Stop("failed", 2, message)
    names = [variable.path for variable in model.weights]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:  # a checkpoint could hold only one of them
        message = f"two weights are called {', '.join(twice)}: name the layers"
        raise Stop("failed", 2, message)


def reseed(model: Any, *numbers: int) -> None:
    """Give every dropout layer fresh random numbers that depend on these alone."""
    weights = {id(variable) for variable in model.weights}
    generators = [v for v in model.variables if id(v) not in weights]
    seeds = np.random.SeedSequence(numbers)
    for variable, seed in zip(generators, seeds.generate_state(len(generators))):
        variable.assign([seed, 0])


def named_parameters(model: Any) -> dict[str, Any]:
    """Trainable variables by name: the canonical one, or the path in the model."""
    if hasattr(model, "canonical_parameters"):
        return model.canonical_parameters()
    return {variable.path: variable for variable in model.trainable_variables}


def layout_of(model: Any) -> Callable[[str, np.ndarray], np.ndarray]:
    """Return what converts between the model's layout and that of weight files."""
    return getattr(model, "canonical_layout", lambda name, array: array)


def weights(state: TrainState) -> dict[str, Any]:
    """Weights by name, in float32 where the optimizer keeps them so."""
    model, copies = state.model, {}
    if hasattr(state.optimizer, "publish"):  # of the half weights that the model has
        trained = zip(model.trainable_variables, state.optimizer.variables)
        copies = {id(variable): weight for variable, weight in trained}
    named = {variable.path: variable for variable in model.weights}
    if hasattr(model, "canonical_parameters"):
        named = model.canonical_parameters()
    return {name: copies.get(id(v), v) for name, v in named.items()}


def model_arrays(state: TrainState) -> Arrays:
    """Weights by name, in the canonical layout; moving averages are weights, too."""
    exchange, arrays = layout_of(state.model), {}
    for name, variable in weights(state).items():
        array = variable.numpy()
        if array.dtype.kind not in "biu":
            array = array.astype(np.float32)
        arrays[name] = exchange(name, array)
    return arrays


def restore_model(state: TrainState, arrays: Arrays) -> None:
    """Overwrite the weights, and the averages that have not begun."""
    exchange = layout_of(state.model)
    for name, variable in weights(state).items():
        variable.assign(exchange(name, arrays[name]))
    if hasattr(state.optimizer, "publish"):
        state.optimizer.publish()
    if hasattr(state, "start_averages") and not state.updates:
        state.start_averages()


def averages(state: TrainState) -> Iterator[tuple[str, Any]]:
    """Yield the averages by the names of their weights."""
    names = {id(v): name for name, v in named_parameters(state.model).items()}
    for weight, average in zip(state.model.trainable_variables, state.averages):
        yield names[id(weight)], average


def ema_arrays(state: TrainState) -> Arrays:
    """Averages of the weights by name, in the canonical layout."""
    exchange = layout_of(state.model)
    return {name: exchange(name, a.numpy()) for name, a in averages(state)}


def restore_ema(state: TrainState, arrays: Arrays) -> None:
    """Overwrite the averages."""
    exchange = layout_of(state.model)
    for name, average in averages(state):
        average.assign(exchange(name, arrays[name]))


def moments(state: TrainState) -> Iterator[tuple[str, str, Any]]:
    """Yield the optimizer's own variables as slot, name of the weight, variable."""
    names = {id(v): name for name, v in named_parameters(state.model).items()}
    exchange = layout_of(state.model)
    swapped = {"row_var": "col_var", "col_var": "row_var"}
    for slot in SLOTS:
        for weight, variable in zip(state.model.trainable_variables, held(state, slot)):
            name = names[id(weight)]
            # What is a row here is a column in the canonical layout of a kernel.
            turned = exchange(name, np.empty((1, 2))).shape == (2, 1)
            if variable is not None:
                yield swapped.get(slot, slot) if turned else slot, name, variable


def held(state: TrainState, slot: str) -> list[Any]:
    """Return the moments of one kind, in the order of the trainable weights."""
    optimizer = state.optimizer
    stock = STOCK_SLOTS.get(type(optimizer).__name__) == slot
    if stock and not hasattr(optimizer, slot):
        return [v for v in optimizer.variables if v.path.endswith("_momentum")]
    return getattr(optimizer, slot, [])


def optimizer_arrays(state: TrainState) -> Arrays:
    """Moments as `slot/name`, in the canonical layout."""
    exchange = layout_of(state.model)
    return {f"{slot}/{n}": exchange(n, v.numpy()) for slot, n, v in moments(state)}


def restore_optimizer(state: TrainState, arrays: Arrays, settings: Settings) -> None:
    """Overwrite the moments and the number of past updates."""
    exchange = layout_of(state.model)
    state.optimizer.iterations.assign(state.updates)
    for slot, name, variable in moments(state):
        if f"{slot}/{name}" in arrays:
            variable.assign(exchange(name, arrays[f"{slot}/{name}"]))


def scaler_counters(state: TrainState) -> dict[str, Any]:
    """A dynamic loss scale and its counters; nothing of a constant one."""
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
