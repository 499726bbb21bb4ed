"""The dropout of a Paddle model: that of its layers can be switched off."""

from __future__ import annotations

from paddle import nn


def switch_off(model: nn.Layer) -> None:
    """Set all rates to 0, also those of recurrent layers and of attention."""
    for layer in model.sublayers(include_self=True):
        if any("Dropout" in kind.__name__ for kind in type(layer).__mro__):
            layer.p = 0.0
            layer.eval()  # one of the user's may call its rate otherwise
        elif isinstance(getattr(layer, "dropout", None), float):
            layer.dropout = 0.0
