"""The dropout of a Flax model: that of its layers can be switched off."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from flax import linen, nnx

_RATES = ("rate", "dropout_rate")
_OFF = ExitStack()
"""What keeps the dropout of Linen off until the process ends."""


def switch_off_state(state: Any) -> None:
    """Set all rates of a script's model to 0, which lies in pieces in its state."""
    model = state.model
    switch_off(model)
    state.graph, _, state.arrays.rest = nnx.split(model, nnx.Param, ...)


def switch_off(model: Any) -> None:
    """Set all rates to 0, those of layers of Linen in it whenever they are called."""
    for _, module in nnx.iter_modules(model):
        for name in _RATES:
            if isinstance(vars(module).get(name), int | float):
                setattr(module, name, 0.0)
        if isinstance(module, nnx.bridge.ToNNX):
            _switch_off_linen()


def _switch_off_linen() -> None:
    """Set the rates of Linen's modules, which are made again for every call."""
    _OFF.close()
    _OFF.enter_context(linen.intercept_methods(_without_rate))


def _without_rate(call: Any, args: Any, kwargs: Any, context: Any) -> Any:
    for name in _RATES:
        if hasattr(context.module, name):
            object.__setattr__(context.module, name, 0.0)  # Linen freezes its modules
    return call(*args, **kwargs)
