"""PyTorch's dropout with given masks: the functions that `torch.nn.functional` calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.overrides import handle_torch_function, has_torch_function

from crosscast_parity.inside.manifest import Patches
from crosscast_parity.inside.masks import Masks

LARGEST = 2**63 - 1
ALPHA = (nn.AlphaDropout, nn.FeatureAlphaDropout)


class TorchDropout:
    """Stands in for `nn.Dropout`, its kinds for channels, and attention's `dropout_p`."""

    def __init__(self, masks: Masks) -> None:
        self._masks = masks
        self._names: dict[int, str] = {}
        self._micro: int | None = None
        self._patches = Patches()
        operators: Any = torch._VF
        for name in ("dropout", "dropout_", "feature_dropout", "feature_dropout_"):
            replaced = self._dropping(name, getattr(operators, name))
            self._patches.replace(operators, name, replaced)
        attention = self._attending(F.scaled_dot_product_attention)
        self._patches.replace(F, "scaled_dot_product_attention", attention)

    def plain(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function."""
        return function

    def begin(self, model: Any) -> list[str]:
        """Note the modules' names; recurrent ones and those for SELU drop in a way of their own."""
        if not isinstance(model, nn.Module):
            return []
        self._names = {id(module): name for name, module in model.named_modules()}
        return [name for name, module in model.named_modules() if _out_of_reach(module)]

    def enter(self) -> None:
        """Count a micro-batch."""
        self._micro = self._masks.begin_micro_batch() if self._masks.active else None

    def leave(self) -> None:
        """Do nothing."""

    def undo(self) -> None:
        """Put the functions back."""
        self._patches.undo()

    def _name(self, owner: Any) -> str:
        if not isinstance(owner, nn.Module):
            return ""
        return self._names.get(id(owner)) or type(owner).__name__

    def _dropping(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def dropout(value: Any, p: float, train: bool) -> Any:
            if not (train and 0 < p < 1 and self._masks.active and self._micro is not None):
                return original(value, p, train)
            shape = list(value.shape)
            if name.startswith("feature"):  # whole channels
                shape[2:] = [1] * len(shape[2:])
            mask = self._mask(shape, p).to(value.device)
            if name.endswith("_"):
                return value.mul_(mask)
            return (value.to(torch.float32) * mask).to(value.dtype)

        return dropout

    def _mask(self, shape: list[int], rate: float) -> Any:
        # From the generator whose state `checkpoint` keeps and brings back.
        key = int(torch.randint(LARGEST, (), device="cpu")).to_bytes(8, "little")
        site = self._masks.site(self._name, rate)
        assert self._micro is not None
        numbers = self._masks.draw(self._micro, key, shape, site)
        return torch.from_numpy(self._masks.kept(numbers, rate))

    def _attending(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def scaled_dot_product_attention(
            query: Any,
            key: Any,
            value: Any,
            attn_mask: Any = None,
            dropout_p: float = 0.0,
            **kw: Any,
        ) -> Any:
            arguments = (query, key, value, attn_mask, dropout_p)
            if not dropout_p or not self._masks.active:
                return original(*arguments, **kw)
            if has_torch_function((query, key, value)):
                ours = scaled_dot_product_attention
                return handle_torch_function(ours, (query, key, value), *arguments, **kw)
            return _attention(*arguments, **kw)

        return scaled_dot_product_attention


def _attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any,
    dropout_p: float,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Return attention, by the formula in PyTorch's documentation."""
    if enable_gqa:
        groups = query.size(-3) // key.size(-3)
        key, value = (array.repeat_interleave(groups, -3) for array in (key, value))
    factor = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = query @ key.transpose(-2, -1) * factor
    if is_causal:
        visible = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~visible, -math.inf)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    return F.dropout(scores.softmax(-1), dropout_p) @ value


def _out_of_reach(module: Any) -> bool:
    if isinstance(module, nn.RNNBase):
        return bool(module.dropout) and module.num_layers > 1
    return isinstance(module, ALPHA) and module.p > 0


def make_dropout(masks: Masks) -> TorchDropout:
    """Return the replacement of dropout in a run."""
    return TorchDropout(masks)
