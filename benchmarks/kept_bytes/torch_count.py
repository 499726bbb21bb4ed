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
from dataclasses import dataclass
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
CASTS = {"_to_copy", "copy_", "_foreach_copy_"}
"""Change the type if the one of the result is another; an addition of two types is no cast."""


@dataclass(frozen=True, slots=True)
class Masters:
    """What a window does about float32 weights of which the model has half copies."""

    weights: list[torch.Tensor]
    """The float32 weights of all parameters; a parameter of their own where it has no copy."""
    collect: Callable[[], None]
    """Adds the gradients of half parameters to those of `weights`, every micro-batch."""
    copy: Callable[[], None]
    """Rounds `weights` into the half parameters, once per window."""


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

    def _changes_type(self, name: str, args: Any, result: Any) -> bool:
        if name == "_foreach_copy_":
            return any(to.dtype != source.dtype for to, source in zip(*args[:2], strict=True))
        source, to = (args[0], result) if name == "_to_copy" else (args[1], args[0])
        return bool(source.dtype != to.dtype)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        refuse_half(func, args)
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if not func.is_view and name not in NO_KERNEL:
            self.operators[name] += 1
        if name in CASTS and self._changes_type(name, args, result):
            self.casts += 1
            if name == "_to_copy" and storage_of(args[0]) in self.weights:
                self.copies.add(storage_of(result))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.add(leaf)
        return result


def storage_of(tensor: torch.Tensor) -> int:
    """Return what tells the storage of a tensor from others."""
    return tensor.untyped_storage()._cdata


def count(
    parameters: list[torch.Tensor],
    rows: Iterable[torch.Tensor],
    forward: Callable[[], torch.Tensor],
    masters: Masters | None = None,
) -> Counts:
    """Run one micro-batch and count.

    Args:
        parameters: Those of a model; float32, but for those with a master.
        rows: The tensors that the micro-batch consists of.
        forward: Computes its loss.
        masters: The float32 weights behind half parameters; None: there are none.
    """
    gc.collect()
    watch = Watch(parameters)
    kept: dict[int, torch.Tensor] = {}
    there = {storage_of(tensor) for tensor in (*parameters, *rows)}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        if storage_of(tensor) not in there:
            kept.setdefault(storage_of(tensor), tensor)
        return tensor

    with watch, torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = forward()
    dtypes: Counter[str] = Counter()
    copies = 0
    for key, tensor in kept.items():
        size = tensor.untyped_storage().nbytes()
        if key in watch.copies:
            copies += size
        else:
            dtypes[str(tensor.dtype).removeprefix("torch.")] += size
    kept.clear()
    del loss
    weights = masters.weights if masters else parameters
    owned = {storage_of(weight) for weight in weights}
    standing_copies = [entry for entry in parameters if storage_of(entry) not in owned]
    copies += sum(entry.untyped_storage().nbytes() for entry in standing_copies)
    later = _run(weights, standing_copies, forward, masters, first=False)
    window_casts = 0
    if masters:
        first = _run(weights, standing_copies, forward, masters, first=True)
        window_casts = first.casts - later.casts + _casts(masters.copy)
    return Counts(
        activations=sum(dtypes.values()),
        weight_copies=copies,
        dtypes=dict(dtypes),
        forward=later.forward,
        backward=later.backward,
        casts=later.casts,
        window_casts=window_casts,
        peak=later.peak,
        standing=later.standing,
    )


@dataclass(frozen=True, slots=True)
class _Ran:
    """What one micro-batch of a window came to: bytes and numbers of operators."""

    peak: int
    standing: int
    forward: int
    backward: int
    casts: int


def _run(
    weights: list[torch.Tensor],
    copies: list[torch.Tensor],
    forward: Callable[[], torch.Tensor],
    masters: Masters | None,
    *,
    first: bool,
) -> _Ran:
    """Run the first or a later micro-batch of a window, forward and backward.

    Half copies that live through the window are part of the peak, not of `standing`.
    """
    watch = Watch(weights)
    moments = [torch.empty_like(weight) for weight in weights for _ in range(2)]
    for weight in weights:
        weight.grad = None if first else torch.empty_like(weight)
        for tensor in (weight, *([] if weight.grad is None else [weight.grad])):
            watch.add(tensor)
    for moment in moments:
        watch.add(moment)
    standing = watch.live
    for copy in copies:
        watch.add(copy)
    watch.peak = watch.live
    with watch:
        loss = forward()
        forwards = watch.operators.total()
        loss.backward()
        if masters:
            masters.collect()
    for weight in weights:
        weight.grad = None
    return _Ran(watch.peak, standing, forwards, watch.operators.total() - forwards, watch.casts)


def _casts(run: Callable[[], None]) -> int:
    watch = Watch([])
    with watch:
        run()
    return watch.casts
