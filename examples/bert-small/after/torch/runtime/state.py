"""The state of a run as arrays by name, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from .settings import Settings

TrainState = Any  # of train.py: model, optimizer, counters, and a scaler or averages
Arrays = dict[str, np.ndarray]


def bare_model(state: TrainState) -> nn.Module:
    """The model itself, out of what reduces its gradients."""
    model = state.model
    wrapped = isinstance(model, nn.parallel.DistributedDataParallel)
    return model.module if wrapped else model


def named_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """Trainable parameters by name."""
    return {n: p for n, p in model.named_parameters() if p.requires_grad}


def master(tensor: torch.Tensor) -> torch.Tensor:
    """The float32 weight behind a half one, or else the tensor itself."""
    return getattr(tensor, "master", tensor)


def model_arrays(state: TrainState) -> Arrays:
    """Parameters, by their float32 masters, and buffers by name."""
    tensors = bare_model(state).state_dict(keep_vars=True)
    return {n: master(tensor).detach().cpu().numpy() for n, tensor in tensors.items()}


@torch.no_grad()
def restore_model(state: TrainState, arrays: Arrays) -> None:
    """Overwrite parameters and buffers."""
    for name, tensor in bare_model(state).state_dict(keep_vars=True).items():
        weight = master(tensor)
        weight.copy_(torch.tensor(arrays[name]))
        if weight is not tensor:
            tensor.copy_(weight)


def ema_arrays(state: TrainState) -> Arrays:
    """Averaged weights by name; before the first window, the weights."""
    arrays = {}
    # Not named_parameters, which has one name of a tied weight only.
    for name, parameter in bare_model(state).state_dict(keep_vars=True).items():
        if parameter.requires_grad:
            average = state.averages.get(parameter, master(parameter))
            arrays[name] = average.detach().cpu().numpy()
    return arrays


def restore_ema(state: TrainState, arrays: Arrays) -> None:
    """Overwrite the averaged weights."""
    for name, parameter in named_parameters(bare_model(state)).items():
        average = torch.tensor(arrays[name], device=parameter.device)
        state.averages[parameter] = average


def optimizer_arrays(state: TrainState) -> Arrays:
    """Moments as `slot/name`."""
    arrays = {}
    for name, parameter in named_parameters(bare_model(state)).items():
        slots = state.optimizer.state.get(master(parameter), {})
        for slot, value in slots.items():
            if slot != "step" and value is not None:
                arrays[f"{slot}/{name}"] = value.detach().cpu().numpy()
    return arrays


def restore_optimizer(state: TrainState, arrays: Arrays, settings: Settings) -> None:
    """Overwrite the moments and the numbers of updates."""
    parameters = named_parameters(bare_model(state))
    counted = not {"exp_avg_sq", "variance"}.isdisjoint(settings.slots)
    # load_state_dict knows parameters by number.
    groups = state.optimizer.param_groups
    ordered = [parameter for group in groups for parameter in group["params"]]
    numbers = {parameter: number for number, parameter in enumerate(ordered)}
    saved: dict[int, dict[str, Any]] = {}
    for key, array in arrays.items():
        slot, _, name = key.partition("/")
        slots = saved.setdefault(numbers[master(parameters[name])], {})
        slots[slot] = torch.tensor(array)
        if counted:
            slots["step"] = torch.tensor(float(state.updates))
    state.optimizer.load_state_dict(state.optimizer.state_dict() | {"state": saved})


def scaler_counters(state: TrainState) -> dict[str, Any]:
    """The loss scale and its counters."""
    machine = getattr(state, "loss_scale", None)
    if machine is not None:
        return {"scale": machine.scale, "good": machine.good, "bad": machine.bad}
    saved = state.scaler.state_dict()
    return {"scale": saved["scale"], "good": saved["_growth_tracker"], "bad": 0}


def restore_scaler(state: TrainState, counters: dict[str, Any]) -> None:
    """Overwrite the loss scale and its counters."""
    saved = {"scale": counters["scale"]}
    machine = getattr(state, "loss_scale", None)
    if machine is not None:
        machine.scale, machine.good = counters["scale"], counters["good"]
        machine.bad = counters["bad"]
    else:
        saved["_growth_tracker"] = counters["good"]
    state.scaler.load_state_dict(state.scaler.state_dict() | saved)
