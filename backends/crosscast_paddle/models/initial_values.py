"""What Paddle draws weights from, its initializers, and the methods that fill weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast_migrate.models.initials import (
    GLOROT,
    Drawn,
    constant,
    normal,
    truncated_normal,
    uniform,
    variance_scaling,
)
from crosscast_migrate.models.tables import Fill

DEFAULTS: Mapping[str, Mapping[str, Drawn]] = {
    "linear": {"weight": GLOROT, "bias": constant(0.0)},
    "conv": {"weight": variance_scaling(2.0, "fan_in", "normal"), "bias": constant(0.0)},
    "embedding": {"weight": GLOROT},
    "recurrent": dict.fromkeys(
        ("weight", "bias", "state", "state_bias"), variance_scaling(1 / 3, "fan_in", "uniform")
    ),
}


def _plain(drawn: Drawn) -> Fill:
    """Return the row of a class without arguments."""
    return Fill(of=lambda values: None if values else drawn)


def _normal(values: Mapping[str, Any]) -> Drawn | None:
    centred = values.get("mean", 0.0) == 0.0
    return normal(float(values.get("std", 1.0))) if centred else None


def _truncated(values: Mapping[str, Any]) -> Drawn | None:
    centred = values.get("mean", 0.0) == 0.0
    return truncated_normal(float(values.get("std", 1.0))) if centred else None


def _uniform(values: Mapping[str, Any]) -> Drawn | None:
    even = values.get("min", 0.0) == -values.get("max", 1.0)
    return uniform(float(values.get("max", 1.0))) if even else None


CLASSES: Mapping[str, Fill] = {
    "paddle.nn.initializer.Constant": Fill(
        arguments=("value",), of=lambda values: constant(float(values.get("value", 0.0)))
    ),
    "paddle.nn.initializer.Normal": Fill(arguments=("mean", "std"), of=_normal),
    "paddle.nn.initializer.TruncatedNormal": Fill(arguments=("mean", "std"), of=_truncated),
    "paddle.nn.initializer.XavierUniform": _plain(GLOROT),
    "paddle.nn.initializer.XavierNormal": _plain(variance_scaling(1.0, "fan_avg", "normal")),
    "paddle.nn.initializer.KaimingNormal": _plain(variance_scaling(2.0, "fan_in", "normal")),
    "paddle.nn.initializer.KaimingUniform": _plain(variance_scaling(2.0, "fan_in", "uniform")),
}
FILLS: Mapping[str, Fill] = {
    "zero_": Fill(of=lambda values: constant(0.0)),
    "fill_": Fill(arguments=("value",), of=lambda values: constant(float(values["value"]))),
    "normal_": Fill(arguments=("mean", "std"), of=_normal),
    "uniform_": Fill(arguments=("min", "max"), of=_uniform),
}
"""Methods of tensors."""
