"""Types under autocast on CUDA, and the bytes that the examples of rules keep: prints JSON.

Fake tensors obey autocast's lists for CUDA without a GPU; they hold no numbers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

HALVES = (torch.float16, torch.bfloat16)
ROWS, TOKENS, INPUTS = 4, 128, 64


def name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def types(half: torch.dtype) -> dict[str, str]:
    """The types of results by the name of the operation, for inputs in half."""
    with FakeTensorMode():
        x, weight = (torch.empty(s, device="cuda", dtype=half) for s in ((2, 4, 8, 8), (8, 8)))
        vector, channels = (torch.empty(n, device="cuda") for n in (8, 4))
        ids = torch.zeros(2, dtype=torch.long, device="cuda")
        operations: dict[str, Callable[[], torch.Tensor]] = {
            "torch.nn.functional.layer_norm": lambda: F.layer_norm(x, (8,), vector, vector),
            "torch.nn.functional.group_norm": lambda: F.group_norm(x, 2, channels),
            "torch.nn.functional.rms_norm": lambda: F.rms_norm(x, (8,), vector),
            "torch.nn.functional.instance_norm": lambda: F.instance_norm(x),
            "torch.nn.functional.softmax": lambda: F.softmax(x, dim=-1),
            "torch.nn.functional.linear": lambda: F.linear(x.float(), weight.float()),
            "torch.nn.functional.conv2d": lambda: F.conv2d(
                x.float(), torch.empty(4, 4, 3, 3, device="cuda")
            ),
            "torch.matmul": lambda: torch.matmul(x.float(), x.float()),
            "torch.einsum": lambda: torch.einsum("abij,abkj->abik", x.float(), x.float()),
            "torch.nn.functional.scaled_dot_product_attention": (
                lambda: F.scaled_dot_product_attention(x.float(), x.float(), x.float())
            ),
            "torch.nn.functional.gelu": lambda: F.gelu(x),
            "torch.nn.functional.silu": lambda: F.silu(x),
            "torch.tanh": lambda: torch.tanh(x),
            "torch.add": lambda: torch.add(x, x),
            "torch.cat": lambda: torch.cat([x, x]),
            "torch.nn.functional.dropout": lambda: F.dropout(x),
            "torch.nn.functional.embedding": lambda: F.embedding(ids, weight.float()),
            "half + float32": lambda: x + x.float(),
            "half += float32": lambda: x.clone().add_(x.float()),
        }
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", half)
        try:
            return {word: name(operation().dtype) for word, operation in operations.items()}
        finally:
            torch.set_autocast_enabled("cuda", False)


def kept_bytes(program: str, half: torch.dtype) -> int:
    """The bytes that a forward pass of the model of an example keeps besides its parameters."""
    cuda = import_module("kept_bytes.torch_as_on_cuda")

    names: dict[str, Any] = {}
    classes = program[: program.index("model = Model()")]
    library = cuda.install()
    with FakeTensorMode(), cuda.autocast(half):
        exec(classes.replace("x.device.type", '"cpu"'), names)
        model = names["Model"]()
        own = {parameter.untyped_storage()._cdata for parameter in model.parameters()}
        kept: dict[int, int] = {}
        alive = []  # or a storage that is freed gives its place to another one

        def pack(tensor: torch.Tensor) -> torch.Tensor:
            alive.append(tensor)
            storage = tensor.untyped_storage()
            if storage._cdata not in own:
                kept[storage._cdata] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            alive.append(model(torch.empty(ROWS, TOKENS, INPUTS)))
        del library
        return sum(kept.values())


if __name__ == "__main__":
    found: dict[str, Any] = {"types": {name(half): types(half) for half in HALVES}}
    sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
    examples = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    found["kept"] = {word: kept_bytes(text, torch.bfloat16) for word, text in examples.items()}
    print(json.dumps(found))
