"""One micro-batch of an emitted PyTorch model; see `run_recomputation`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from frameworks.run_model_torch import inputs

METHOD = "forward"


class CreatedTensors(TorchDispatchMode):  # type: ignore[misc]
    """Notes the storage of every tensor that is made, and does not keep it alive."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[int, tuple[Any, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                storage = leaf.untyped_storage()
                self.found[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())
        return result

    @property
    def kept(self) -> int:
        """Bytes of those still alive."""
        return sum(size for reference, size in self.found.values() if not reference.expired())


def train(
    model: Any, parameters: dict[str, Any], batch: Any, dtype: str, calls: list[str]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    model.train()
    torch.manual_seed(5)
    with CreatedTensors() as made:
        with torch.autocast("cpu", getattr(torch, dtype), enabled=dtype != "float32"):
            logits = model(*inputs(batch)).float()
        loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(batch["labels"]).long())
        del logits
    kept, before = made.kept, len(calls)
    loss.backward()
    found = {"loss": loss.item(), "kept": kept, "calls": [before, len(calls) - before]}
    return found, {name: parameter.grad.numpy() for name, parameter in parameters.items()}
