"""The dropout of a PyTorch model: that of its layers can be switched off."""

from __future__ import annotations

from torch import nn


def switch_off(model: nn.Module) -> None:
    """Set all rates to 0, also those of recurrent layers and of attention."""
    for module in model.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd):
            module.p = 0.0
        elif isinstance(getattr(module, "dropout", None), float):
            module.dropout = 0.0
