"""The dropout of a Keras model: that of its layers can be switched off."""

from __future__ import annotations

from typing import Any


def switch_off(model: Any) -> None:
    """Set all rates to 0, also those of recurrent layers."""
    for layer in model._flatten_layers(include_self=True, recursive=True):
        for name in ("rate", "dropout", "recurrent_dropout"):
            if isinstance(vars(layer).get(name), (int, float)):
                setattr(layer, name, 0.0)
