"""The dropout of a Paddle model: that of its layers can be switched off."""

from __future__ import annotations

from paddle import nn

LAYERS = (nn.Dropout, nn.Dropout2D, nn.Dropout3D, nn.AlphaDropout, nn.FeatureAlphaDropout)


def switch_off(model: nn.Layer) -> None:
    """Set all rates to 0, also those of recurrent layers and of attention."""
    for layer in model.sublayers(include_self=True):
        if isinstance(layer, LAYERS):
            layer.p = 0.0
        elif isinstance(getattr(layer, "dropout", None), float):
            layer.dropout = 0.0
