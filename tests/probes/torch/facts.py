"""What stock PyTorch does, as JSON. Run as a program; the tests beside it read the result."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from probes.fact import Fact, main

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


def parameters(function: Any) -> list[str]:
    """Return the names of the parameters of a function, or of a class."""
    return list(inspect.signature(function).parameters)


OVERFLOWS = [INF] * 12
SCALER = {
    "parameters": Fact(
        "parameters of GradScaler", lambda: parameters(torch.amp.GradScaler.__init__)[1:]
    ),
    "always_dynamic": Fact(
        "scale from 1024 after inf, 1, 1, growing after every clean step",
        lambda: scales([INF, 1.0, 1.0], init_scale=1024.0, growth_interval=1),
    ),
    "first_overflow": Fact(
        "scale from 1024 after 1, inf, 1, inf",
        lambda: scales([1.0, INF, 1.0, INF], init_scale=1024.0, growth_interval=100),
    ),
    "floor": Fact(
        "scale from 1e-40 after twelve overflows with a backoff of 0.01",
        lambda: scales(OVERFLOWS, init_scale=1e-40, backoff_factor=1e-2),
    ),
    "after_zero": Fact("a finite step once the scale has fallen to 0", after_zero_scale),
    "ceiling": Fact(
        "scale from 1 after each of 140 clean steps that all let it grow",
        lambda: scales([1.0] * 140, init_scale=1.0, growth_interval=1),
    ),
    "interval": Fact(
        "scale from 1 after six clean steps, growing after every third",
        lambda: scales([1.0] * 6, init_scale=1.0, growth_interval=3),
    ),
    "new_scale": Fact("scale after update(3.0), update(0.75)", new_scale),
    "momentum_fused": Fact(
        "momentum of fused SGD after a skipped first step", lambda: fused_momentum(True)
    ),
    "momentum_plain": Fact(
        "momentum of plain SGD after a skipped first step", lambda: fused_momentum(False)
    ),
}


def clipped(norm: float, limit: float, **settings: Any) -> dict[str, float]:
    """Return the reported norm and the factor by which a single gradient was multiplied."""
    weight = torch.nn.Parameter(torch.zeros((), dtype=torch.float64))
    weight.grad = torch.tensor(norm, dtype=torch.float64)
    total = torch.nn.utils.clip_grad_norm_([weight], limit, **settings)
    return {"norm": float(total), "factor": float(weight.grad) / norm}


def clipped_values() -> list[float]:
    """Return the gradients -3, 0.5, inf and nan after clipping to 1."""
    weight = torch.nn.Parameter(torch.zeros(4))
    weight.grad = torch.tensor([-3.0, 0.5, INF, float("nan")])
    torch.nn.utils.clip_grad_value_([weight], 1.0)
    found: list[float] = weight.grad.tolist()
    return found


def clipped_together() -> list[float]:
    """Return the norm of gradients 3 and 4, and these after clipping to 2.5."""
    pair = [torch.nn.Parameter(torch.zeros(())) for _ in range(2)]
    for parameter, gradient in zip(pair, (3.0, 4.0), strict=True):
        parameter.grad = torch.tensor(gradient)
    together = float(torch.nn.utils.clip_grad_norm_(pair, 2.5))
    return [together, *(float(parameter.grad) for parameter in pair)]


CLIP = {
    "together": Fact("norm of gradients 3 and 4, and these clipped to 2.5", clipped_together),
    "parameters": Fact(
        "parameters of clip_grad_norm_", lambda: parameters(torch.nn.utils.clip_grad_norm_)
    ),
    "above": Fact("clip_grad_norm_ of a norm of 5 to 1", lambda: clipped(5.0, 1.0)),
    "at": Fact("clip_grad_norm_ of a norm of 1 to 1", lambda: clipped(1.0, 1.0)),
    "below": Fact("clip_grad_norm_ of a norm of 0.5 to 1", lambda: clipped(0.5, 1.0)),
    "tiny": Fact("clip_grad_norm_ of a norm of 1e-5 to 1e-5", lambda: clipped(1e-5, 1e-5)),
    "values": Fact("clip_grad_value_ of -3, 0.5, inf to 1", lambda: clipped_values()[:3]),
    "nan_stays": Fact("clip_grad_value_ keeps nan", lambda: math.isnan(clipped_values()[3])),
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


SMALL = [2.0**-12] * 8


def decays(cls: Any) -> dict[str, float]:
    """Return how much of a decay of 0.01 is applied at several rates to weights from 1 to 2."""
    start, found = np.linspace(1.0, 2.0, 2**16, endpoint=False, dtype=np.float32), {}
    for rate in (1e-5, 5e-5, 1e-3):
        weight = torch.nn.Parameter(torch.from_numpy(start.copy()))
        weight.grad = torch.zeros_like(weight)
        cls([weight], lr=rate, weight_decay=0.01).step()
        moved = start.astype(float) - weight.detach().numpy()
        found[str(rate)] = float(moved.sum() / (start.astype(float).sum() * rate * 0.01))
    return found


OPTIMIZER = {
    "names": Fact("names of torch.optim", lambda: sorted(n.lower() for n in vars(torch.optim))),
    "adam": Fact("parameters of Adam", lambda: parameters(torch.optim.Adam)),
    "adamw": Fact("parameters of AdamW", lambda: parameters(torch.optim.AdamW)),
    "sgd": Fact("parameters of SGD", lambda: parameters(torch.optim.SGD)),
    "adafactor": Fact("parameters of Adafactor", lambda: parameters(torch.optim.Adafactor)),
    "momentum": Fact(
        "weight of 1 after SGD with momentum 0.5, gradient 1 and rates 0.25, 0.5",
        lambda: stepped(torch.optim.SGD, 0.25, 0.5, momentum=0.5),
    ),
    "adam_at_once": Fact(
        "weight of 1 after the first step of Adam of rate 0.25",
        lambda: stepped(torch.optim.Adam, 0.25, betas=(0.5, 0.75), eps=1e-300),
    ),
    "adam_epsilon": Fact(
        "weight of 1 after the first step of Adam of rate 0.25 with an epsilon of 1",
        lambda: stepped(torch.optim.Adam, 0.25, betas=(0.5, 0.75), eps=1.0),
    ),
    "half_weight": Fact(
        "float16 weight of 1 after eight steps of 2^-12",
        lambda: stepped(torch.optim.SGD, *SMALL, dtype=torch.float16),
    ),
    "float32_weight": Fact(
        "float32 weight of 1 after eight steps of 2^-12",
        lambda: stepped(torch.optim.SGD, *SMALL, dtype=torch.float32),
    ),
    "adafactor_step": Fact(
        "weight of 1 after two steps of Adafactor of rate 0.25",
        lambda: stepped(torch.optim.Adafactor, 0.25, 0.25, eps=(1e-7, 1e-3), d=1.0),
    ),
    "decays": Fact(
        "share of their decay that AdamW and Adafactor apply, by the rate",
        lambda: {cls.__name__: decays(cls) for cls in (torch.optim.AdamW, torch.optim.Adafactor)},
    ),
    "average": Fact("AveragedModel over a weight of 1, 2, 3, half kept", average),
}


def taken(name: str) -> str | None:
    """Return the type that a NumPy array of a type becomes; None if it is not taken."""
    try:
        return str(torch.as_tensor(np.ones(1, name)).dtype)
    except (TypeError, ValueError):
        return None


ARRAYS = {
    name: Fact(f"type of a NumPy array of {name}", partial(taken, name))
    for name in ("uint16", "uint32", "uint64", ">i4", ">f4", "longdouble")
}


FACTS = {"arrays": ARRAYS, "scaler": SCALER, "clip": CLIP, "optimizer": OPTIMIZER}

if __name__ == "__main__":
    main(FACTS)
