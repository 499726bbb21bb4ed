"""Reads defaults of the installed PyTorch: `read_defaults.py QUESTIONS`, JSON in and out."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Any

import torch

# isort: split
from probes.signatures import read

INF = float("inf")


def scales(make: Any, gradients: Any, **settings: Any) -> Any:
    """Return the scale after each step of a GradScaler that meets these gradients."""
    weight = torch.nn.Parameter(torch.ones(()))
    optimizer = torch.optim.SGD([weight], lr=0.0)
    scaler = make(**settings)
    found = []
    for gradient in gradients:
        scaler.scale(torch.zeros(()))
        weight.grad = torch.tensor(gradient)
        scaler.step(optimizer)
        scaler.update()
        found.append(scaler.get_scale())
    return found


def machine(make: Any) -> Any:
    falling = scales(make, [INF] * 200, init_scale=1024.0)
    rising = scales(make, [1.0] * 20, init_scale=2.0**110, growth_interval=1)
    return {
        "loss_scaling.hysteresis": 1 + [scale < 1024.0 for scale in falling].index(True),
        "loss_scaling.min_scale": min(falling) or None,
        "loss_scaling.max_scale": None if max(rising) == 2.0**127 else max(rising),
    }


def scaler() -> Any:
    return machine(partial(torch.amp.GradScaler, "cpu"))


def cuda_scaler() -> Any:
    """Let the class of CUDA, which turns itself off without a GPU, run on the CPU."""

    def make(**settings: Any) -> Any:
        kind = torch.cuda.amp.GradScaler
        made = kind.__new__(kind)
        torch.amp.GradScaler.__init__(made, "cpu", **settings)
        return made

    return machine(make)


def clip() -> Any:
    weight = torch.nn.Parameter(torch.zeros((), dtype=torch.float64))
    weight.grad = torch.tensor(1.0, dtype=torch.float64)
    torch.nn.utils.clip_grad_norm_([weight], 1.0)
    return {"clipping.eps": round(1.0 / float(weight.grad) - 1.0, 12)}


if __name__ == "__main__":
    FIXED = {
        "torch.amp.GradScaler": scaler,
        "torch.cuda.amp.GradScaler": cuda_scaler,
        "torch.nn.utils.clip_grad_norm_": clip,
    }
    print(json.dumps(read(json.loads(sys.argv[1]), {}, FIXED)))
