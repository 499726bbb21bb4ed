"""In which type operations on half numbers return their results under autocast.

CUDA's list decides about tensors without numbers whose device is `cuda`, also where no GPU is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses import FakeTensorMode
from torch.nn import functional as F

from crosscast_torch.inside.autocast_lists import CPU, CUDA

HALVES = (torch.float16, torch.bfloat16)


def operations(device: str) -> dict[str, Callable[[Any], Any]]:
    labels = torch.zeros(4, dtype=torch.long, device=device)
    names = ("pow", "square", "exp", "log", "sqrt", "rsqrt", "sigmoid", "tanh")
    return {
        **{name: getattr(torch, name) for name in names if name != "pow"},
        **{name: getattr(F, name) for name in ("gelu", "relu", "silu", "dropout")},
        "pow": lambda x: torch.pow(x, 2),
        "add": lambda x: x + x,
        "mul": lambda x: x * x,
        "div": lambda x: x / x,
        "sum": lambda x: torch.sum(x, -1),
        "mean": lambda x: torch.mean(x, -1),
        "logsumexp": lambda x: torch.logsumexp(x, -1),
        "norm": torch.norm,
        "softmax": lambda x: F.softmax(x, -1),
        "log_softmax": lambda x: F.log_softmax(x, -1),
        "layer_norm": lambda x: F.layer_norm(x, (8,)),
        "group_norm": lambda x: F.group_norm(x, 2),
        "rms_norm": lambda x: F.rms_norm(x, (8,)),
        "instance_norm": lambda x: F.instance_norm(x.view(2, 2, 8)),
        "embedding": lambda x: F.embedding(labels, x),
        "cross_entropy": lambda x: F.cross_entropy(x, labels),
        "nll_loss": lambda x: F.nll_loss(x, labels),
        "mse_loss": lambda x: F.mse_loss(x, x),
    }


def in_float32(device: str, dtype: torch.dtype) -> list[str]:
    x = torch.ones(4, 8, dtype=dtype, device=device)
    torch.set_autocast_enabled(device, True)
    torch.set_autocast_dtype(device, dtype)
    try:
        results = {name: compute(x).dtype for name, compute in operations(device).items()}
    finally:
        torch.set_autocast_enabled(device, False)
    assert set(results.values()) == {dtype, torch.float32}, results
    return sorted(name for name, result in results.items() if result == torch.float32)


def main() -> None:
    kinds = {str(dtype).removeprefix("torch."): dtype for dtype in HALVES}
    found = {"cpu": {name: in_float32("cpu", dtype) for name, dtype in kinds.items()}}
    with FakeTensorMode():
        found["cuda"] = {name: in_float32("cuda", dtype) for name, dtype in kinds.items()}
    tried = set(operations("cpu"))
    lists = {"cpu": sorted(CPU & tried), "cuda": sorted(CUDA & tried)}
    print(json.dumps({"found": found, "lists": lists, "not tried": sorted((CUDA | CPU) - tried)}))


main()
