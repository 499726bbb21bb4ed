"""apex.normalization: the fused layer, without the fusing."""

from __future__ import annotations

from apex.normalization.fused_layer_norm import FusedLayerNorm  # type: ignore[import-not-found]

__all__ = ["FusedLayerNorm"]
