"""Calls of the layers of a model: in which order, with what, what came back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

MOST_CALLS = 3
"""Calls of one layer whose arrays are kept: a cell of a recurrent one is called every step."""
SETTINGS = {
    "eps": ("eps", "epsilon", "_epsilon"),
    "momentum": ("momentum", "_momentum"),
    "stride": ("stride", "strides", "_stride"),
    "padding": ("padding", "_padding"),
    "kernel_size": ("kernel_size", "pool_size", "ksize", "_kernel_size"),
    "dilation": ("dilation", "dilation_rate", "_dilation"),
    "groups": ("groups", "_groups"),
    "rate": ("p", "rate"),
    "dropout": ("dropout",),
    "data_format": ("data_format", "_data_format"),
    "approximate": ("approximate", "_approximate"),
    "axis": ("axis",),
    "heads": ("num_heads", "_num_heads"),
}
"""Name of a setting, and what frameworks call the attribute of a layer that holds it."""


class Values(Protocol):
    """What a framework does for calls."""

    def is_output(self, value: Any) -> bool:
        """Whether a value is a tensor of floating-point numbers."""

    def array(self, value: Any) -> np.ndarray:
        """Return a tensor as a float32 array, a copy."""

    def version(self, value: Any) -> int:
        """Return how often a tensor was changed in place."""

    def base(self, layer: Any) -> str:
        """Return the name of the framework's class that a layer is."""


class Calls:
    """The calls of layers, in the order in which they begin.

    Args:
        framework: Of the layers.
        values: Whether to keep what layers get and return.
    """

    def __init__(self, framework: Values, values: bool = False) -> None:
        self._framework, self._values = framework, values
        self._calls: list[dict[str, Any]] = []
        self._open: list[int] = []
        self._ends = 0
        self._counts: dict[str, int] = {}
        self._arrays: dict[str, np.ndarray] = {}
        self._outputs: list[tuple[str, int]] = []
        self.handles: list[Any] = []
        """Tensors that layers returned."""

    @property
    def order(self) -> list[str]:
        """The paths of the layers."""
        return [call["path"] for call in self._calls]

    def enter(self, path: str, layer: Any) -> int:
        """Note that a layer is called; `leave` wants the number that comes back."""
        number, count = len(self._calls), self._counts.get(path, 0)
        self._counts[path] = count + 1
        parent = self._open[-1] if self._open else None
        self._calls.append({"path": path, "count": count, "parent": parent, "end": None})
        self._open.append(number)
        return number

    def leave(self, number: int, layer: Any, inputs: Any, returned: Any) -> None:
        """Note what a layer got and returned."""
        while self._open and self._open.pop() != number:
            pass  # calls that raised, and were caught
        call = self._calls[number]
        call["end"] = self._ends
        self._ends += 1
        if not self._values:
            return
        call["kind"], call["base"] = type(layer).__name__, self._framework.base(layer)
        call["settings"] = settings_of(layer)
        if call["count"] >= MOST_CALLS:
            return
        for n, value in enumerate(flat(inputs, self._framework)):
            self._arrays[f"in/{number}/{n}"] = self._framework.array(value)
        for n, value in enumerate(flat(returned, self._framework)):
            self._arrays[f"out/{number}/{n}"] = self._framework.array(value)
            self.handles.append(value)
            self._outputs.append((f"back/{number}/{n}", self._framework.version(value)))

    def arrays(self, gradients: list[Any]) -> dict[str, np.ndarray]:
        """Return the arrays that were kept, with the gradients of `handles` in their order.

        A tensor that was changed in place has the gradient of what it became: it is left out.
        """
        arrays = dict(self._arrays)
        for (name, version), handle, value in zip(  # noqa: B905
            self._outputs, self.handles, gradients
        ):
            if value is not None and self._framework.version(handle) == version:
                arrays[name] = self._framework.array(value)
        return arrays

    def told(self) -> list[dict[str, Any]]:
        """Return the calls as plain data."""
        return [{"number": n, **call} for n, call in enumerate(self._calls) if "base" in call]


def settings_of(layer: Any) -> dict[str, Any]:
    """Return the settings of a layer that are plain values."""
    settings: dict[str, Any] = {}
    for name, attributes in SETTINGS.items():
        for attribute in attributes:
            value = getattr(layer, attribute, None)
            if isinstance(value, (list, tuple)) and all(type(v) in (int, str) for v in value):
                settings[name] = list(value)
            elif isinstance(value, (bool, int, float, str)):
                settings[name] = value
            if name in settings:
                break
    return settings


def flat(value: Any, framework: Values) -> list[Any]:
    """Return the tensors of floating-point numbers in a value, in order."""
    if framework.is_output(value):
        return [value]
    if isinstance(value, Mapping):
        return [tensor for key in value for tensor in flat(value[key], framework)]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in flat(item, framework)]
    return []
