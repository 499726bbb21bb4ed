"""apex.normalization.fused_layer_norm: LayerNorm without a choice of device."""

from __future__ import annotations

from typing import Any

import torch


class FusedLayerNorm(torch.nn.LayerNorm):
    """LayerNorm with the arguments of apex."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine)
