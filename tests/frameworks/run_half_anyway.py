"""Prints the types of results under autocast to float16, as a JSON object: `matmul` to type.

The functions of torch that users of apex register as half, with float32 operands.
"""

from __future__ import annotations

import json

import torch


def some(*shape: int) -> torch.Tensor:
    """Return random numbers in float32."""
    return torch.rand(*shape)


MATRICES = (some(3, 4), some(4, 5))
BATCHED = (some(2, 3, 4), some(2, 4, 5))


def main() -> None:
    with torch.autocast("cpu", dtype=torch.float16):
        results = {
            "einsum": torch.einsum("bij,bjk->bik", *BATCHED),
            "matmul": torch.matmul(*MATRICES),
            "bmm": torch.bmm(*BATCHED),
            "mm": torch.mm(*MATRICES),
        }
    print(json.dumps({name: str(result.dtype) for name, result in results.items()}))


if __name__ == "__main__":
    main()
