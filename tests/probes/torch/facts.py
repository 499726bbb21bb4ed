"""What stock PyTorch does, as JSON. Run as a program; the tests beside it read the result."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

INF = float("inf")


def scales(gradients: Sequence[float], **settings: Any) -> list[float]:
    """Return the scale after each step of a GradScaler that meets these gradients."""
    weight = torch.nn.Parameter(torch.ones(()))
    optimizer = torch.optim.SGD([weight], lr=0.0)
    scaler = torch.amp.GradScaler("cpu", **settings)
    found = []
    for gradient in gradients:
        scaler.scale(torch.zeros(()))  # the scale exists from the first use on
        weight.grad = torch.tensor(gradient)
        scaler.step(optimizer)
        scaler.update()
        found.append(scaler.get_scale())
    return found


def after_zero_scale() -> dict[str, Any]:
    """Return what a step makes of a finite loss once the scale has fallen to 0."""
    weight = torch.nn.Parameter(torch.ones(()))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=1e-45)
    for gradient in (INF, None):
        loss = scaler.scale(weight * 2.0)
        loss.backward()
        if gradient is not None:
            weight.grad = torch.tensor(gradient)
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return {"scale": scaler.get_scale(), "nan": bool(weight.isnan())}


def new_scale() -> list[float]:
    """Return the scale after `update(value)` in place of a dynamic update."""
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(torch.zeros(()))
    found = []
    for value in (3.0, 0.75):
        scaler.update(value)
        found.append(scaler.get_scale())
    return found


def fused_momentum(fused: bool) -> dict[str, Any]:
    """Return SGD's momentum after a first step that GradScaler skipped.

    Uninitialized memory holds whatever was there before; here it is made to hold nan.
    """
    fresh = torch.empty_like
    torch.empty_like = lambda tensor, **kwargs: fresh(tensor, **kwargs).fill_(float("nan"))
    try:
        weight = torch.nn.Parameter(torch.ones(3))
        optimizer = torch.optim.SGD([weight], lr=0.5, momentum=0.9, fused=fused)
        scaler = torch.amp.GradScaler("cpu", init_scale=1.0)
        for gradient in (INF, 1.0):
            scaler.scale(torch.zeros(()))
            weight.grad = torch.full((3,), gradient)
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
    finally:
        torch.empty_like = fresh
    momentum = optimizer.state[weight]["momentum_buffer"]
    return {"momentum_nan": bool(momentum.isnan().any()), "weight_nan": bool(weight.isnan().any())}


def scaler_facts() -> dict[str, Any]:
    """GradScaler, with and without fused SGD."""
    parameters = list(inspect.signature(torch.amp.GradScaler.__init__).parameters)
    overflow = [INF] * 3
    return {
        "parameters": parameters[1:],
        "always_dynamic": scales([INF, 1.0, 1.0], init_scale=1024.0, growth_interval=1),
        "first_overflow": scales([1.0, INF, 1.0, INF], init_scale=1024.0, growth_interval=100),
        "floor": scales(overflow * 4, init_scale=1e-40, backoff_factor=1e-2),
        "after_zero": after_zero_scale(),
        "ceiling": scales([1.0] * 140, init_scale=1.0, growth_interval=1),
        "interval": scales([1.0] * 6, init_scale=1.0, growth_interval=3),
        "new_scale": new_scale(),
        "momentum_fused": fused_momentum(True),
        "momentum_plain": fused_momentum(False),
    }


def clipped(norm: float, limit: float, **settings: Any) -> dict[str, float]:
    """Return the reported norm and the factor by which a single gradient was multiplied."""
    weight = torch.nn.Parameter(torch.zeros((), dtype=torch.float64))
    weight.grad = torch.tensor(norm, dtype=torch.float64)
    total = torch.nn.utils.clip_grad_norm_([weight], limit, **settings)
    return {"norm": float(total), "factor": float(weight.grad) / norm}


def clip_facts() -> dict[str, Any]:
    """The clip functions of torch.nn.utils."""
    weight = torch.nn.Parameter(torch.zeros(4))
    weight.grad = torch.tensor([-3.0, 0.5, INF, float("nan")])
    torch.nn.utils.clip_grad_value_([weight], 1.0)
    values = weight.grad
    pair = [torch.nn.Parameter(torch.zeros(())) for _ in range(2)]
    for parameter, gradient in zip(pair, (3.0, 4.0), strict=True):
        parameter.grad = torch.tensor(gradient)
    together = float(torch.nn.utils.clip_grad_norm_(pair, 2.5))
    return {
        "together": [together, *(float(parameter.grad) for parameter in pair)],
        "parameters": list(inspect.signature(torch.nn.utils.clip_grad_norm_).parameters),
        "above": clipped(5.0, 1.0),
        "at": clipped(1.0, 1.0),
        "below": clipped(0.5, 1.0),
        "tiny": clipped(1e-5, 1e-5),
        "values": values[:3].tolist(),
        "nan_stays": bool(values[3].isnan()),
    }


def stepped(
    optimizer: type[torch.optim.Optimizer], *rates: float, dtype: Any = None, **settings: Any
) -> float:
    """Return a weight of 1 after one step with gradient 1 for every rate."""
    weight = torch.nn.Parameter(torch.ones((), dtype=dtype or torch.float64))
    made = optimizer([weight], lr=rates[0], **settings)
    for rate in rates:
        made.param_groups[0]["lr"] = rate
        weight.grad = torch.ones_like(weight)
        made.step()
    return float(weight)


def average() -> list[float]:
    """Return AveragedModel's average of a weight that goes 1, 2, 3, seen from 2 on."""
    model = torch.nn.Linear(1, 1, bias=False, dtype=torch.float64)
    found = []
    with torch.no_grad():
        model.weight.fill_(1.0)
        keep_half = torch.optim.swa_utils.get_ema_multi_avg_fn(0.5)
        averaged = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=keep_half)
        for value in (2.0, 3.0):
            model.weight.fill_(value)
            averaged.update_parameters(model)
            found.append(averaged.module.weight.item())
    return found


def optimizer_facts() -> dict[str, Any]:
    """The optimizers and averages of torch.optim."""
    optim = torch.optim
    signature = inspect.signature
    return {
        "names": sorted(name.lower() for name in vars(optim)),
        "adam": list(signature(optim.Adam).parameters),
        "adamw": list(signature(optim.AdamW).parameters),
        "sgd": list(signature(optim.SGD).parameters),
        "adafactor": list(signature(optim.Adafactor).parameters),
        "momentum": stepped(optim.SGD, 0.25, 0.5, momentum=0.5),
        "adam_at_once": stepped(optim.Adam, 0.25, betas=(0.5, 0.75), eps=1e-300),
        "adam_epsilon": stepped(optim.Adam, 0.25, betas=(0.5, 0.75), eps=1.0),
        "half_weight": stepped(optim.SGD, *[2.0**-12] * 8, dtype=torch.float16),
        "float32_weight": stepped(optim.SGD, *[2.0**-12] * 8, dtype=torch.float32),
        "adafactor_step": stepped(optim.Adafactor, 0.25, 0.25, eps=(1e-7, 1e-3), d=1.0),
        "average": average(),
    }


def array_facts() -> dict[str, str | None]:
    """Types that NumPy arrays become, by their own; None for those not taken."""
    found: dict[str, str | None] = {}
    for name in ("uint16", "uint32", "uint64", ">i4", ">f4", "longdouble"):
        try:
            found[name] = str(torch.as_tensor(np.ones(1, name)).dtype)
        except (TypeError, ValueError):
            found[name] = None
    return found


FACTS = {
    "arrays": array_facts,
    "scaler": scaler_facts,
    "clip": clip_facts,
    "optimizer": optimizer_facts,
}

if __name__ == "__main__":
    print(json.dumps(FACTS[sys.argv[1]]()))
