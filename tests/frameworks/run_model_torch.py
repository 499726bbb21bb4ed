"""Runs emitted PyTorch models; see `model_job`."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.cuda.amp import common
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from frameworks.model_job import HALVES, Arrays, run


class Recorder(TorchFunctionMode):  # type: ignore[misc]
    """Notes the type of every result of a torch function, by the function's name."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, set[str]] = defaultdict(set)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.__getitem__ and args[0].device.type == "cuda":
            return indexed(*args)
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            name = getattr(func, "__name__", str(func))
            self.found[name].add(str(result.dtype).removeprefix("torch."))
        return result


class Torch:
    name = "torch"
    halves: tuple[str, ...] = HALVES
    typed: tuple[str, ...] = HALVES

    def seed(self, number: int) -> None:
        torch.manual_seed(number)

    def build(self, module: ModuleType, dtype: str) -> Any:
        return module.build_model()

    def read(self, parameter: Any) -> np.ndarray:
        array: np.ndarray = parameter.detach().numpy().copy()
        return array

    def write(self, parameter: Any, array: np.ndarray) -> None:
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(array))

    def logits(self, model: Any, batch: Arrays, *, training: bool) -> np.ndarray:
        model.train(training)
        array: np.ndarray = model(*inputs(batch)).detach().numpy()
        return array

    def gradients(
        self, model: Any, parameters: dict[str, Any], batch: Arrays, dtype: str
    ) -> tuple[np.ndarray, float, Arrays]:
        model.eval()
        model.zero_grad()
        with torch.autocast("cpu", getattr(torch, dtype), enabled=dtype != "float32"):
            logits = model(*inputs(batch))
        loss = F.cross_entropy(logits.float(), torch.from_numpy(batch["labels"]).long())
        loss.backward()
        gradients = {name: p.grad.numpy() for name, p in parameters.items()}
        return logits.detach().float().numpy(), loss.item(), gradients

    def types(self, model: Any, batch: Arrays, dtype: str) -> dict[str, set[str]]:
        cpu, cuda = record(model, inputs(batch), "cpu", dtype), record_cuda(model, batch, dtype)
        return cpu | {f"cuda {op}": found for op, found in cuda.items()}


def inputs(batch: Arrays) -> list[Any]:
    return [
        torch.from_numpy(batch[name]) for name in ("input_ids", "attention_mask", "token_type_ids")
    ]


def record(model: Any, tensors: list[Any], device: str, dtype: str) -> dict[str, set[str]]:
    recorder = Recorder()
    stream: set[str] = set()
    for layer in model.bert.encoder["layer"]:
        layer.register_forward_pre_hook(lambda _, args: stream.add(str(args[0].dtype)))
    half = dtype != "float32"
    with torch.autocast(device, getattr(torch, dtype), enabled=half), recorder:
        model(*tensors)
    return recorder.found | {"stream": {name.removeprefix("torch.") for name in stream}}


def indexed(tensor: Any, index: Any) -> Any:
    """What indexing gives, for a fake CUDA tensor (it asks for a driver even there)."""
    return tensor.new_empty(torch.empty(tensor.shape, device="meta")[index].shape)


def record_cuda(model: Any, batch: Arrays, dtype: str) -> dict[str, set[str]]:
    """Fake tensors obey the dispatch of CUDA autocast without a GPU; they hold no values."""
    common.amp_definitely_not_available = lambda: False
    torch.cuda.is_bf16_supported = lambda: True
    with FakeTensorMode(), torch.no_grad():
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False):
                fake = torch.empty(parameter.shape, device="cuda")
                setattr(module, name, torch.nn.Parameter(fake, requires_grad=False))
        tensors = [
            torch.empty(tensor.shape, dtype=tensor.dtype, device="cuda") for tensor in inputs(batch)
        ]
        return record(model, tensors, "cuda", dtype)


if __name__ == "__main__":
    torch.set_num_threads(1)
    run(Torch(), Path(sys.argv[1]))
