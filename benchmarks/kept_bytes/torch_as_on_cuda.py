"""Make PyTorch choose on a CPU the operators and types that it chooses on CUDA.

Fake tensors on a CPU take the CPU's way at four places that decide what is kept:

- Autocast on CUDA computes LayerNorm and softmax in float32, on a CPU it does not. They are
  registered for the CPU; another operator of CUDA's list alone that meets halves is an error.
  softmax of float16 with `dtype=float32` is one kernel on CUDA; of bfloat16 a cast and a kernel.
- Dropout on CUDA is one kernel that keeps a mask of a byte per element (`native_dropout`); on a
  CPU it keeps the mask in the type of the input.
- Fused attention on CUDA keeps query, key, value, output and a float32 logarithm of a sum per row
  and head. Without a mask and in half precision that is `flash`, otherwise `efficient`; a boolean
  mask becomes a number for each score first. On a CPU, attention with dropout is not fused.
- `autocast` of the device type `cuda` is that of the CPU.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.nn import functional as F

aten = torch.ops.aten
DEVICE = "cpu"
IN_FLOAT32 = ("layer_norm",)
SOFTMAX = ("softmax.int", "log_softmax.int")
_AUTOCAST = torch._C.DispatchKey.AutocastCPU
_ON_CUDA, _ON_CPU = (
    set(torch._C._dispatch_get_registrations_for_dispatch_key(f"Autocast{device}"))
    for device in ("CUDA", "CPU")
)
NOT_MENDED = _ON_CUDA - _ON_CPU - {"aten::_scaled_dot_product_flash_attention"}
"""Operators to which autocast does something on CUDA only, except one that computes in half."""


def install() -> torch.library.Library:
    """Change the functions for the rest of the process; keep what is returned.

    Fused attention is used by those who call `torch.nn.functional.scaled_dot_product_attention`.
    """
    library = torch.library.Library("aten", "IMPL", "AutocastCPU")
    for name in IN_FLOAT32:
        library.impl(name, _in_float32(getattr(aten, name).default))
    for name in SOFTMAX:
        packet, overload = name.split(".")
        library.impl(name, _to_float32(getattr(getattr(aten, packet), overload)))
    F.dropout = _dropout
    F.scaled_dot_product_attention = _attention
    return library


_casting = [False]
"""Whether autocast is on; operators are watched below it, where PyTorch itself does not tell."""


@contextlib.contextmanager
def autocast(dtype: torch.dtype | None) -> Iterator[None]:
    """Compute under CUDA's autocast; None: without autocast."""
    _casting.append(dtype is not None)
    try:
        with torch.autocast(DEVICE, dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            yield
    finally:
        _casting.pop()


def refuse_half(operator: Any, inputs: Iterable[Any]) -> None:
    """Raise NotImplementedError for an operator that autocast on CUDA would not run in half."""
    if _casting[-1] and operator.name() in NOT_MENDED and any(map(_is_half, inputs)):
        raise NotImplementedError(f"autocast on CUDA does not leave {operator.name()} in half")


def _below_autocast() -> Any:
    return torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(_AUTOCAST))


def _is_half(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16)


def _in_float32(operator: Any) -> Any:
    def computed(*args: Any, **kwargs: Any) -> Any:
        raised = [value.float() if _is_half(value) else value for value in args]
        with _below_autocast():
            return operator(*raised, **kwargs)

    return computed


def _to_float32(operator: Any) -> Any:
    fused = {aten.softmax.int: aten._softmax, aten.log_softmax.int: aten._log_softmax}[operator]

    def computed(x: torch.Tensor, dim: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        dtype = dtype or (torch.float32 if x.is_floating_point() else None)
        with _below_autocast():
            if x.dtype == torch.float16 and dtype == torch.float32:
                return fused(x, dim, True)
            return operator(x, dim, dtype)

    return computed


def _dropout(
    x: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> torch.Tensor:
    assert not inplace
    return torch.native_dropout(x, p, True)[0] if training and p else x


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    assert not enable_gqa
    if torch.is_autocast_enabled(DEVICE):
        dtype = torch.get_autocast_dtype(DEVICE)
        query, key, value = (x.to(dtype) for x in (query, key, value))
        if attn_mask is not None and attn_mask.dtype != torch.bool:
            attn_mask = attn_mask.to(dtype)
    if attn_mask is None and _is_half(query):
        return aten._scaled_dot_product_flash_attention(
            query, key, value, dropout_p, is_causal, False, scale=scale
        )[0]
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            zero, low = (torch.full((), x, dtype=query.dtype) for x in (0.0, -torch.inf))
            attn_mask = torch.where(attn_mask, zero, low)
        attn_mask = attn_mask.expand(*query.shape[:3], key.shape[2])
    return aten._scaled_dot_product_efficient_attention(
        query, key, value, attn_mask, True, dropout_p, is_causal, scale=scale
    )[0]
