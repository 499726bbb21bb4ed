"""Initial weights: what a layer draws them from, by its sizes."""

from __future__ import annotations

from collections.abc import Callable

from crosscast_migrate.models.network import Initial, Settings

Fans = tuple[float, float]
"""Fan in and fan out."""
Drawn = Callable[[Fans], Initial]
"""An initializer: what it draws the numbers of a weight from."""
_KEPT = 0.87962566103423978
"""Standard deviation of a standard normal distribution that is cut at two."""


def fans(kind: str, settings: Settings) -> Fans:
    """Return fan in and fan out of the weight of a layer."""
    if kind in ("batch_norm", "layer_norm"):
        return 1.0, 1.0
    if kind == "recurrent":
        return settings["units"], settings["units"]
    if kind == "linear":
        return settings["inputs"], settings["units"]
    if kind == "conv":
        window = 1
        for size in settings["kernel"]:
            window *= size
        return window * settings["inputs"] / settings["groups"], window * settings["filters"]
    return settings["count"], settings["width"]


def variance_scaling(scale: float, mode: str, distribution: str) -> Drawn:
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


def constant(number: float) -> Drawn:
    """Return an initializer with one number."""
    return lambda fan: Initial("constant", number)


def uniform(bound: float) -> Drawn:
    """Return an initializer with numbers between -bound and bound."""
    return lambda fan: Initial("uniform", bound)


def normal(deviation: float) -> Drawn:
    """Return an initializer with normally distributed numbers."""
    return lambda fan: Initial("normal", deviation)


def truncated_normal(deviation: float) -> Drawn:
    """Return an initializer with normally distributed numbers, cut at two deviations."""
    return lambda fan: Initial("truncated_normal", deviation)


GLOROT = variance_scaling(1.0, "fan_avg", "uniform")
