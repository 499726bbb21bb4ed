"""Count what one micro-batch keeps in PyTorch, on fake tensors: storages with a size and no data.

Kept is what autograd packs: hooks on saved tensors see each, and storages count once. A copy of a
weight is a storage that a cast made of a weight. The peak is that of the second micro-batch of a
window, when gradients and moments exist: it counts every storage from the operator that makes it
until it is released. Operators that start kernels are those that reach the device, without views
and allocations; one that casts, copies the values into another type.
"""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from kept_bytes import Counts
from kept_bytes.torch_as_on_cuda import refuse_half

NO_KERNEL = {
    *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"),
    *("_unsafe_view", "_reshape_alias", "detach", "lift_fresh", "sym_size", "device"),
}
CAST = "_to_copy"


class Watch(TorchDispatchMode):
    """Live bytes of storages and their highest sum, operators, and the copies of weights."""

    def __init__(self, weights: Iterable[torch.Tensor]) -> None:
        super().__init__()
        self.live = self.peak = 0
        self.operators: Counter[str] = Counter()
        self.casts = 0
        self.known: dict[int, Any] = {}
        self.weights = {storage_of(weight) for weight in weights}
        self.copies: set[int] = set()

    def add(self, tensor: torch.Tensor) -> None:
        """Count a storage until it is gone."""
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key not in self.known:
            self.live += size
            self.peak = max(self.peak, self.live)
            self.known[key] = weakref.finalize(storage, self._gone, key, size)

    def _gone(self, key: int, size: int) -> None:
        self.live -= size
        del self.known[key]
        self.copies.discard(key)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        refuse_half(func, args)
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if not func.is_view and name not in NO_KERNEL:
            self.operators[name] += 1
        if name == CAST and result.dtype != args[0].dtype:
            self.casts += 1
            if storage_of(args[0]) in self.weights:
                self.copies.add(storage_of(result))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.add(leaf)
        return result


def storage_of(tensor: torch.Tensor) -> int:
    """Return what tells the storage of a tensor from others."""
    return tensor.untyped_storage()._cdata


def count(
    weights: list[torch.Tensor],
    rows: Iterable[torch.Tensor],
    forward: Callable[[], torch.Tensor],
) -> Counts:
    """Run one micro-batch and count.

    Args:
        weights: The parameters of a model, float32.
        rows: The tensors that the micro-batch consists of.
        forward: Computes its loss.
    """
    gc.collect()
    watch = Watch(weights)
    kept: dict[int, torch.Tensor] = {}
    copies = 0
    there = {storage_of(tensor) for tensor in (*weights, *rows)}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        if storage_of(tensor) not in there:
            kept.setdefault(storage_of(tensor), tensor)
        return tensor

    with watch, torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = forward()
    dtypes: Counter[str] = Counter()
    for key, tensor in kept.items():
        size = tensor.untyped_storage().nbytes()
        if key in watch.copies:
            copies += size
        else:
            dtypes[str(tensor.dtype).removeprefix("torch.")] += size
    kept.clear()
    del loss
    peak, standing, forwards, backwards, casts = _run(weights, forward)
    return Counts(
        activations=sum(dtypes.values()),
        weight_copies=copies,
        dtypes=dict(dtypes),
        forward=forwards,
        backward=backwards,
        casts=casts,
        peak=peak,
        standing=standing,
    )


def _run(
    weights: list[torch.Tensor], forward: Callable[[], torch.Tensor]
) -> tuple[int, int, int, int, int]:
    """Return peak, bytes before it, operators forward and backward, and casts."""
    watch = Watch(weights)
    moments = [torch.empty_like(weight) for weight in weights for _ in range(2)]
    for weight in weights:
        weight.grad = torch.empty_like(weight)
        watch.add(weight)
        watch.add(weight.grad)
    for moment in moments:
        watch.add(moment)
    standing = watch.peak = watch.live
    with watch:
        loss = forward()
        forwards = watch.operators.total()
        loss.backward()
    for weight in weights:
        weight.grad = None
    return watch.peak, standing, forwards, watch.operators.total() - forwards, watch.casts
