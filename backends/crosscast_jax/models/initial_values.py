"""What Flax NNX draws weights from, and its initializers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast_migrate.models.initials import (
    Drawn,
    constant,
    normal,
    truncated_normal,
    uniform,
    variance_scaling,
)
from crosscast_migrate.models.tables import Fill

_LECUN = variance_scaling(1.0, "fan_in", "truncated_normal")
_ONES, _ZEROS = constant(1.0), constant(0.0)
DEFAULTS: Mapping[str, Mapping[str, Drawn]] = {
    "linear": {"weight": _LECUN, "bias": _ZEROS},
    "conv": {"weight": _LECUN, "bias": _ZEROS},
    # Flax calls the width of an embedding its fan in.
    "embedding": {"weight": variance_scaling(1.0, "fan_out", "normal")},
}
_DRAWN = ("key", "shape", "dtype")
"""What a function that draws numbers is given by the layer."""
_PACKAGES = ("jax.nn.initializers", "flax.nnx.initializers", "flax.linen.initializers")


def _scaled(values: Mapping[str, Any]) -> Drawn | None:
    """Return the numbers of `variance_scaling`, of the fans as layers have them by default."""
    usual = {"in_axis": -2, "out_axis": -1, "batch_axis": ()}
    if any(values.get(name, other) != other for name, other in usual.items()):
        return None
    if values["distribution"] not in ("uniform", "normal", "truncated_normal"):
        return None
    return variance_scaling(float(values["scale"]), values["mode"], values["distribution"])


def _normal(values: Mapping[str, Any]) -> Drawn:
    return normal(float(values.get("stddev", 0.01)))


def _truncated(values: Mapping[str, Any]) -> Drawn | None:
    cut = values.get("lower", -2.0) == -2.0 and values.get("upper", 2.0) == 2.0
    return truncated_normal(float(values.get("stddev", 0.01))) if cut else None


def _even(values: Mapping[str, Any]) -> Drawn | None:
    low, high = float(values.get("minval", 0.0)), float(values.get("maxval", 1.0))
    return uniform(high) if low == -high else None


def _plain(drawn: Drawn) -> Fill:
    """Return the row of a function that is called without anything."""
    return Fill(of=lambda values: None if values else drawn)


_SCALES: Mapping[str, tuple[float, str]] = {
    "lecun": (1.0, "fan_in"),
    "he": (2.0, "fan_in"),
    "kaiming": (2.0, "fan_in"),
    "glorot": (1.0, "fan_avg"),
    "xavier": (1.0, "fan_avg"),
}
_MAKERS: Mapping[str, Fill] = {
    **{
        f"{name}_{word}": _plain(variance_scaling(scale, mode, drawn))
        for name, (scale, mode) in _SCALES.items()
        for word, drawn in (("uniform", "uniform"), ("normal", "truncated_normal"))
    },
    "variance_scaling": Fill(arguments=("scale", "mode", "distribution"), of=_scaled),
    "normal": Fill(arguments=("stddev",), of=_normal),
    "truncated_normal": Fill(arguments=("stddev",), of=_truncated),
    "constant": Fill(arguments=("value",), of=lambda values: constant(float(values["value"]))),
    "zeros_init": _plain(_ZEROS),
    "ones_init": _plain(_ONES),
}
"""Functions that return an initializer. That of `uniform` draws no number below zero."""
INITIALIZERS: Mapping[str, Fill] = {
    **{f"{package}.{name}": row for package in _PACKAGES for name, row in _MAKERS.items()},
    "jax.random.uniform": Fill(
        arguments=(*_DRAWN, "minval", "maxval"), of=_even, ignored=frozenset(_DRAWN)
    ),
    "jax.random.normal": Fill(
        arguments=_DRAWN, of=lambda values: normal(1.0), ignored=frozenset(_DRAWN)
    ),
}
"""What returns an initializer, and what initializers that a program writes itself return."""
NAMES: Mapping[str, Drawn] = {
    f"{package}.{name}": drawn
    for package in _PACKAGES
    for name, drawn in (("zeros", _ZEROS), ("ones", _ONES))
}
"""Functions that are an initializer."""
