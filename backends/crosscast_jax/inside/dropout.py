"""The dropout of a Flax model: that of its layers can be switched off."""

from __future__ import annotations

from typing import Any

from flax import nnx


def switch_off_state(state: Any) -> None:
    """Set all rates of a script's model to 0, which lies in pieces in its state."""
    model = state.model
    switch_off(model)
    state.graph, _, state.arrays.rest = nnx.split(model, nnx.Param, ...)


def switch_off(model: Any) -> None:
    """Set all rates to 0."""
    for _, module in nnx.iter_modules(model):
        for name in ("rate", "dropout_rate"):
            if isinstance(vars(module).get(name), int | float):
                setattr(module, name, 0.0)
