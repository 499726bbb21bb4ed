"""The state of a run as arrays by name, and back."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import paddle
from paddle import nn

from .settings import Settings

TrainState = Any  # of train.py: model, optimizer, counters, and a scaler or averages
Arrays = dict[str, np.ndarray]
# Names of the moments: in checkpoints, and in Paddle behind the name of the parameter.
STOCK_SLOTS = {
    "momentum_buffer": "velocity_0",
    "exp_avg": "moment1_0",
    "exp_avg_sq": "moment2_0",
}


def bare_model(state: TrainState) -> nn.Layer:
    """The model itself, out of what reduces its gradients."""
    wrapped = isinstance(state.model, paddle.DataParallel)
    return state.model._layers if wrapped else state.model


def named_parameters(model: nn.Layer) -> dict[str, paddle.Tensor]:
    """Trainable parameters by name."""
    return {n: p for n, p in model.named_parameters() if not p.stop_gradient}


def layout_of(model: nn.Layer) -> Callable[[str, np.ndarray], np.ndarray]:
    """Return what converts between the model's layout and that of weight files."""
    return getattr(model, "canonical_layout", lambda name, array: array)


def model_arrays(state: TrainState) -> Arrays:
    """Parameters and buffers by name, in the canonical layout."""
    model = bare_model(state)
    exchange = layout_of(model)
    return {n: exchange(n, tensor.numpy()) for n, tensor in model.state_dict().items()}


def restore_model(state: TrainState, arrays: Arrays) -> None:
    """Overwrite parameters and buffers."""
    model = bare_model(state)
    exchange = layout_of(model)
    model.set_state_dict({name: exchange(name, a) for name, a in arrays.items()})


def averages(state: TrainState) -> dict[str, paddle.Tensor]:
    """Averaged weights by name; they begin as the weights themselves."""
    if not state.average:
        for name, weight in named_parameters(bare_model(state)).items():
            state.average[name] = weight.detach().clone()
    return state.average


def ema_arrays(state: TrainState) -> Arrays:
    """Averaged weights by name, in the canonical layout; a tied weight has several."""
    model = bare_model(state)
    exchange, named = layout_of(model), dict(model.named_parameters())
    held = {named[name].name: average for name, average in averages(state).items()}
    tensors = model.state_dict()
    names = {name: t.name for name, t in tensors.items() if t.name in held}
    return {n: exchange(n, held[names[n]].numpy()) for n in names}


def restore_ema(state: TrainState, arrays: Arrays) -> None:
    """Overwrite the averages."""
    exchange = layout_of(bare_model(state))
    for name, average in averages(state).items():
        average.set_value(exchange(name, arrays[name]))


def canonical_slot(exchange: Callable[..., np.ndarray], name: str, slot: str) -> str:
    """Rows of a dense kernel are columns in the canonical layout, and vice versa."""
    turned = exchange(name, np.empty((1, 2))).shape == (2, 1)
    other = {"row_var": "col_var", "col_var": "row_var"}
    return other.get(slot, slot) if turned else slot


def optimizer_arrays(state: TrainState) -> Arrays:
    """Moments as `slot/name`, in the canonical layout."""
    model, arrays = bare_model(state), {}
    exchange = layout_of(model)
    own = getattr(state.optimizer, "moments", None)  # of a class in train.py
    stock = {} if own is not None else state.optimizer.state_dict()
    for name, parameter in named_parameters(model).items():
        for slot, suffix in STOCK_SLOTS.items():
            moment = stock.get(f"{parameter.name}_{suffix}")
            if moment is not None:
                arrays[f"{slot}/{name}"] = exchange(name, moment.numpy())
        for slot, held in (own or {}).items():
            if parameter.name in held:
                key = f"{canonical_slot(exchange, name, slot)}/{name}"
                arrays[key] = exchange(name, held[parameter.name].numpy())
    return arrays


def restore_optimizer(state: TrainState, arrays: Arrays, settings: Settings) -> None:
    """Overwrite the moments, and the powers of the betas by the number of updates."""
    model = bare_model(state)
    exchange, parameters = layout_of(model), named_parameters(model)
    own, stock = getattr(state.optimizer, "moments", None), {}
    for key, array in arrays.items():
        slot, _, name = key.partition("/")
        value = paddle.to_tensor(exchange(name, array))
        full_name = parameters[name].name
        if own is not None:
            own[canonical_slot(exchange, name, slot)][full_name] = value
            continue
        stock[f"{full_name}_{STOCK_SLOTS[slot]}"] = value
        for number, beta in enumerate(settings.betas, start=1):
            power = beta_power(beta, state.updates)
            stock[f"{full_name}_beta{number}_pow_acc_0"] = power
    if own is None:
        state.optimizer.set_state_dict(stock)


def beta_power(beta: float, updates: int) -> paddle.Tensor:
    """Power of a beta for the next update, as Adam has it."""
    return paddle.to_tensor(rounded_power(beta, updates + 1), place=paddle.CPUPlace())


@lru_cache(maxsize=2)
def rounded_power(beta: float, exponent: int) -> np.ndarray:
    """Power in float32, rounded after every factor; of those that 1 absorbs, any."""
    factor = np.float32(beta)
    needed = 40 / (1 - float(factor)) if factor < 1 else 1
    return np.broadcast_to(factor, [min(exponent, int(needed))]).prod(keepdims=True)


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
    if machine is None:
        return
    machine.scale, machine.good = counters["scale"], counters["good"]
    if hasattr(machine, "bad"):
        machine.bad = counters["bad"]
    if state.amp:
        state.scaler.set_init_loss_scaling(machine.scale)
