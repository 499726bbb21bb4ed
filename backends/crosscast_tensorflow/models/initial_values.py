"""What Keras draws weights from, and its initializers."""

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
    "conv": {"weight": GLOROT, "bias": constant(0.0)},
    "embedding": {"weight": uniform(0.05)},
}
NAMES: Mapping[str, Drawn] = {
    "glorot_uniform": GLOROT,
    "glorot_normal": variance_scaling(1.0, "fan_avg", "truncated_normal"),
    "he_uniform": variance_scaling(2.0, "fan_in", "uniform"),
    "he_normal": variance_scaling(2.0, "fan_in", "truncated_normal"),
    "lecun_uniform": variance_scaling(1.0, "fan_in", "uniform"),
    "lecun_normal": variance_scaling(1.0, "fan_in", "truncated_normal"),
    "zeros": constant(0.0),
    "ones": constant(1.0),
    "uniform": uniform(0.05),
    "random_uniform": uniform(0.05),
    "random_normal": normal(0.05),
    "normal": normal(0.05),
}
"""By the names that layers take."""


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in ("seed", "dtype")}


def _plain(drawn: Drawn) -> Fill:
    """Return the row of a class without arguments but a seed."""
    return Fill(of=lambda values: None if _given(values) else drawn)


def _normal(values: Mapping[str, Any]) -> Drawn | None:
    centred = values.get("mean", 0.0) == 0.0
    return normal(float(values.get("stddev", 0.05))) if centred else None


def _truncated(values: Mapping[str, Any]) -> Drawn | None:
    centred = values.get("mean", 0.0) == 0.0
    return truncated_normal(float(values.get("stddev", 0.05))) if centred else None


CLASSES: Mapping[str, Fill] = {
    "keras.initializers.GlorotUniform": _plain(GLOROT),
    "keras.initializers.GlorotNormal": _plain(NAMES["glorot_normal"]),
    "keras.initializers.HeUniform": _plain(NAMES["he_uniform"]),
    "keras.initializers.HeNormal": _plain(NAMES["he_normal"]),
    "keras.initializers.LecunUniform": _plain(NAMES["lecun_uniform"]),
    "keras.initializers.LecunNormal": _plain(NAMES["lecun_normal"]),
    "keras.initializers.Zeros": _plain(NAMES["zeros"]),
    "keras.initializers.Ones": _plain(NAMES["ones"]),
    "keras.initializers.RandomNormal": Fill(arguments=("mean", "stddev"), of=_normal),
    "keras.initializers.TruncatedNormal": Fill(arguments=("mean", "stddev"), of=_truncated),
}
