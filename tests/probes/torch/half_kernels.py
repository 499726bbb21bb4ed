"""What PyTorch's half kernels compute in, and what fused attention keeps for backward."""

from __future__ import annotations

import json
from collections.abc import Callable

import torch
from torch.nn import functional as F

HALVES = (torch.float16, torch.bfloat16)
ROWS, WIDTH = 64, 4096
BATCH, HEADS, LENGTH, SIZE = 2, 4, 96, 16


def name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def of_rounded(function: Callable[..., torch.Tensor], *tensors: torch.Tensor) -> float:
    """Share of a half kernel's results that are the float32 results, rounded once."""
    half = function(*tensors)
    wide = function(*(tensor.float() for tensor in tensors)).to(half.dtype)
    return float((half == wide).float().mean())


def kernels(dtype: torch.dtype) -> dict[str, float]:
    torch.manual_seed(0)
    x = torch.randn(ROWS, WIDTH).to(dtype)
    weight, bias = (torch.randn(WIDTH).to(dtype) for _ in range(2))
    return {
        "gelu": of_rounded(F.gelu, x),
        "tanh": of_rounded(torch.tanh, x),
        "softmax": of_rounded(lambda x: F.softmax(x, dim=-1), x),
        "layer_norm": of_rounded(lambda x, w, b: F.layer_norm(x, (WIDTH,), w, b), x, weight, bias),
    }


def long_sums(dtype: torch.dtype) -> dict[str, list[float]]:
    """Sums that end at 256 in bfloat16, and are infinite in float16."""
    alike = torch.zeros(1, WIDTH, dtype=dtype)
    far = torch.full((1, WIDTH), 60.0, dtype=dtype)
    far[:, ::2] = 62.0
    return {
        "softmax": [float(F.softmax(alike, dim=-1)[0, 0]) * WIDTH],
        "layer_norm": F.layer_norm(far, (WIDTH,))[0, :2].tolist(),
    }


def attention(dtype: torch.dtype) -> dict[str, float]:
    torch.manual_seed(0)
    q, k, v = (
        torch.randn(BATCH, HEADS, LENGTH, SIZE, dtype=dtype, requires_grad=True) for _ in range(3)
    )
    mask = torch.zeros(BATCH, 1, 1, LENGTH, dtype=dtype)
    mask[:, :, :, -7:] = -1e4
    kept: list[int] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        fused = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    wide = [tensor.detach().float() for tensor in (q, k, v)]
    scores = wide[0] @ wide[1].transpose(2, 3) / SIZE**0.5 + mask.float()
    explicit = scores.softmax(-1) @ wide[2]
    return {
        "largest kept": max(kept),
        "scores": BATCH * HEADS * LENGTH * LENGTH,
        "inputs": q.numel(),
        "difference": float((fused.detach().float() - explicit).abs().max()),
    }


if __name__ == "__main__":
    found = {
        "kernels": {name(dtype): kernels(dtype) for dtype in HALVES},
        "long sums": {name(dtype): long_sums(dtype) for dtype in HALVES},
        "attention": {name(dtype): attention(dtype) for dtype in (torch.float32, *HALVES)},
    }
    print(json.dumps(found))
