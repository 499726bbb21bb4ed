"""Prints the types of results under autocast to float16, as a JSON object: `torch:matmul` to type.

The operations that users of apex register as half, with float32 operands.
"""

from __future__ import annotations

import json

import torch

functional = torch.nn.functional


def some(*shape: int) -> torch.Tensor:
    """Return random numbers in float32."""
    return torch.rand(*shape)


MATRICES = (some(3, 4), some(4, 5))
BATCHED = (some(2, 3, 4), some(2, 4, 5))
CONV1D = (some(1, 2, 8), some(3, 2, 3))
CONV2D = (some(1, 2, 8, 8), some(3, 2, 3, 3))
CONV3D = (some(1, 2, 8, 8, 8), some(3, 2, 3, 3, 3))
PRELU = (some(2, 3), some(3))


def main() -> None:
    with torch.autocast("cpu", dtype=torch.float16):
        found = {
            "torch:einsum": torch.einsum("bij,bjk->bik", *BATCHED),
            "torch:matmul": torch.matmul(*MATRICES),
            "torch:bmm": torch.bmm(*BATCHED),
            "torch:mm": torch.mm(*MATRICES),
            "torch:addmm": torch.addmm(some(3, 5), *MATRICES),
            "torch:addbmm": torch.addbmm(some(3, 5), *BATCHED),
            "torch:baddbmm": torch.baddbmm(some(2, 3, 5), *BATCHED),
            "torch:chain_matmul": torch.chain_matmul(*MATRICES),
            "torch:conv1d": torch.conv1d(*CONV1D),
            "torch:conv2d": torch.conv2d(*CONV2D),
            "torch:conv3d": torch.conv3d(*CONV3D),
            "torch:prelu": torch.prelu(*PRELU),
            "torch.nn.functional:linear": functional.linear(some(2, 4), some(3, 4)),
            "torch.nn.functional:conv1d": functional.conv1d(*CONV1D),
            "torch.nn.functional:conv2d": functional.conv2d(*CONV2D),
            "torch.nn.functional:conv3d": functional.conv3d(*CONV3D),
            "torch.nn.functional:prelu": functional.prelu(*PRELU),
        }
    print(json.dumps({name: str(tensor.dtype) for name, tensor in found.items()}))


if __name__ == "__main__":
    main()
