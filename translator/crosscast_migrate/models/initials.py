"""Initial weights: the defaults of frameworks, and the initializers that sources name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from crosscast_migrate.models.network import Initial, Settings

Fans = tuple[float, float]
"""Fan in and fan out."""
_KEPT = 0.87962566103423978
"""Standard deviation of a standard normal distribution that is cut at two."""


def fans(kind: str, settings: Settings) -> Fans:
    """Return fan in and fan out of the weight of a layer."""
    if kind == "linear":
        return settings["inputs"], settings["units"]
    if kind == "conv":
        window = 1
        for size in settings["kernel"]:
            window *= size
        return window * settings["inputs"] / settings["groups"], window * settings["filters"]
    return settings["count"], settings["width"]


def variance_scaling(scale: float, mode: str, distribution: str) -> Callable[[Fans], Initial]:
    """Return an initializer whose variance is `scale` divided by a fan."""

    def of(fan: Fans) -> Initial:
        size = {"fan_in": fan[0], "fan_out": fan[1], "fan_avg": (fan[0] + fan[1]) / 2}[mode]
        variance = scale / size
        if distribution == "uniform":
            return Initial("uniform", (3 * variance) ** 0.5)
        if distribution == "truncated_normal":
            return Initial("truncated_normal", variance**0.5 / _KEPT)
        return Initial("normal", variance**0.5)

    return of


def constant(number: float) -> Callable[[Fans], Initial]:
    """Return an initializer with one number."""
    return lambda fan: Initial("constant", number)


def uniform(bound: float) -> Callable[[Fans], Initial]:
    """Return an initializer with numbers between -bound and bound."""
    return lambda fan: Initial("uniform", bound)


def normal(deviation: float) -> Callable[[Fans], Initial]:
    """Return an initializer with normally distributed numbers."""
    return lambda fan: Initial("normal", deviation)


ONE_OVER_FAN = variance_scaling(1 / 3, "fan_in", "uniform")
"""Uniform between -1 and 1 divided by the root of the fan in."""
GLOROT = variance_scaling(1.0, "fan_avg", "uniform")
DEFAULTS: Mapping[tuple[str, str], Mapping[str, Callable[[Fans], Initial]]] = {
    ("torch", "linear"): {"weight": ONE_OVER_FAN, "bias": ONE_OVER_FAN},
    ("torch", "conv"): {"weight": ONE_OVER_FAN, "bias": ONE_OVER_FAN},
    ("torch", "embedding"): {"weight": normal(1.0)},
    ("tensorflow", "linear"): {"weight": GLOROT, "bias": constant(0.0)},
    ("tensorflow", "conv"): {"weight": GLOROT, "bias": constant(0.0)},
    ("tensorflow", "embedding"): {"weight": uniform(0.05)},
    ("paddle", "linear"): {"weight": GLOROT, "bias": constant(0.0)},
    ("paddle", "conv"): {
        "weight": variance_scaling(2.0, "fan_in", "normal"),
        "bias": constant(0.0),
    },
    ("paddle", "embedding"): {"weight": GLOROT},
}
"""Framework and layer to what it draws its weights from."""

KERAS: Mapping[str, Callable[[Fans], Initial]] = {
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
"""Initializers of Keras by the names that layers take."""
KERAS_CLASSES: Mapping[str, str] = {
    "GlorotUniform": "glorot_uniform",
    "GlorotNormal": "glorot_normal",
    "HeUniform": "he_uniform",
    "HeNormal": "he_normal",
    "LecunUniform": "lecun_uniform",
    "LecunNormal": "lecun_normal",
    "Zeros": "zeros",
    "Ones": "ones",
}
"""Initializers of Keras by class, where they have no arguments but a seed."""


def made(name: str, arguments: Mapping[str, Any]) -> Callable[[Fans], Initial] | None:
    """Return the initializer that a call of a class makes; None for another."""
    package, _, word = name.rpartition(".")
    given = {key: value for key, value in arguments.items() if key not in ("seed", "dtype")}
    if package == "keras.initializers":
        if not given and word in KERAS_CLASSES:
            return KERAS[KERAS_CLASSES[word]]
        if word == "RandomNormal" and given.get("mean", 0.0) == 0.0:
            return normal(float(given.get("stddev", 0.05)))
        if word == "TruncatedNormal" and given.get("mean", 0.0) == 0.0:
            return lambda fan: Initial("truncated_normal", float(given.get("stddev", 0.05)))
    elif package == "paddle.nn.initializer":
        if word == "Constant":
            return constant(float(given.get("value", 0.0)))
        if word == "Normal" and given.get("mean", 0.0) == 0.0:
            return normal(float(given.get("std", 1.0)))
        if word == "XavierUniform" and not given:
            return GLOROT
        if word == "XavierNormal" and not given:
            return variance_scaling(1.0, "fan_avg", "normal")
        if word == "KaimingNormal" and not given:
            return variance_scaling(2.0, "fan_in", "normal")
        if word == "KaimingUniform" and not given:
            return variance_scaling(2.0, "fan_in", "uniform")
        if word == "TruncatedNormal" and given.get("mean", 0.0) == 0.0:
            return lambda fan: Initial("truncated_normal", float(given.get("std", 1.0)))
    return None


def in_place(name: str, arguments: Mapping[str, Any]) -> Callable[[Fans], Initial] | None:
    """Return what a function of torch.nn.init fills a weight with; None for another."""
    word = name.rpartition(".")[2]
    mode = arguments.get("mode", "fan_in")
    relu = arguments.get("nonlinearity", "leaky_relu")
    slope = arguments.get("a", 0)
    known = {"leaky_relu": 2.0 / (1 + slope**2), "relu": 2.0, "linear": 1.0}
    gain = arguments.get("gain", 1.0)
    match word:
        case "zeros_" | "zero_":
            return constant(0.0)
        case "ones_":
            return constant(1.0)
        case "constant_" | "fill_":
            return constant(float(arguments["val"]))
        case "normal_" if arguments.get("mean", 0.0) == 0.0:
            return normal(float(arguments.get("std", 1.0)))
        case "uniform_" if arguments.get("a", 0.0) == -arguments.get("b", 1.0):
            return uniform(float(arguments["b"]))
        case "xavier_uniform_":
            return variance_scaling(gain**2, "fan_avg", "uniform")
        case "xavier_normal_":
            return variance_scaling(gain**2, "fan_avg", "normal")
        case "kaiming_uniform_" if relu in known:
            return variance_scaling(known[relu], mode, "uniform")
        case "kaiming_normal_" if relu in known:
            return variance_scaling(known[relu], mode, "normal")
    return None


IN_PLACE_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "constant_": ("val",),
    "normal_": ("mean", "std"),
    "uniform_": ("a", "b"),
    "xavier_uniform_": ("gain",),
    "xavier_normal_": ("gain",),
    "kaiming_uniform_": ("a", "mode", "nonlinearity"),
    "kaiming_normal_": ("a", "mode", "nonlinearity"),
    "fill_": ("val",),
    "zeros_": (),
    "zero_": (),
    "ones_": (),
}
"""Arguments after the weight."""
