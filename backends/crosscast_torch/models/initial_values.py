"""What PyTorch draws weights from, and the functions that fill them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast_migrate.models.initials import Drawn, constant, normal, uniform, variance_scaling
from crosscast_migrate.models.tables import Fill

_ONE_OVER_FAN = variance_scaling(1 / 3, "fan_in", "uniform")
"""Uniform between -1 and 1 divided by the root of the fan in."""
DEFAULTS: Mapping[str, Mapping[str, Drawn]] = {
    "linear": {"weight": _ONE_OVER_FAN, "bias": _ONE_OVER_FAN},
    "conv": {"weight": _ONE_OVER_FAN, "bias": _ONE_OVER_FAN},
    "embedding": {"weight": normal(1.0)},
    "recurrent": dict.fromkeys(("weight", "bias", "state", "state_bias"), _ONE_OVER_FAN),
}


def _normal(values: Mapping[str, Any]) -> Drawn | None:
    centred = values.get("mean", 0.0) == 0.0
    return normal(float(values.get("std", 1.0))) if centred else None


def _uniform(values: Mapping[str, Any]) -> Drawn | None:
    even = values.get("a", 0.0) == -values.get("b", 1.0)
    return uniform(float(values.get("b", 1.0))) if even else None


def _constant(values: Mapping[str, Any]) -> Drawn:
    return constant(float(values["val"]))


def _xavier(distribution: str) -> Fill:
    def of(values: Mapping[str, Any]) -> Drawn:
        return variance_scaling(values.get("gain", 1.0) ** 2, "fan_avg", distribution)

    return Fill(arguments=("gain",), of=of)


def _kaiming(distribution: str) -> Fill:
    def of(values: Mapping[str, Any]) -> Drawn | None:
        slope = values.get("a", 0)
        scales = {"leaky_relu": 2.0 / (1 + slope**2), "relu": 2.0, "linear": 1.0}
        name = values.get("nonlinearity", "leaky_relu")
        if name not in scales:
            return None
        return variance_scaling(scales[name], values.get("mode", "fan_in"), distribution)

    return Fill(arguments=("a", "mode", "nonlinearity"), of=of)


_ZERO = Fill(of=lambda values: constant(0.0))
FILLS: Mapping[str, Fill] = {
    "zero_": _ZERO,
    "fill_": Fill(arguments=("val",), of=_constant),
    "normal_": Fill(arguments=("mean", "std"), of=_normal),
    "uniform_": Fill(arguments=("a", "b"), of=_uniform),
    "zeros_": _ZERO,
    "ones_": Fill(of=lambda values: constant(1.0)),
    "constant_": Fill(arguments=("val",), of=_constant),
    "xavier_uniform_": _xavier("uniform"),
    "xavier_normal_": _xavier("normal"),
    "kaiming_uniform_": _kaiming("uniform"),
    "kaiming_normal_": _kaiming("normal"),
}
"""Functions of torch.nn.init, and the methods of tensors that do the same."""
