"""How many seeds it takes: the power of `statistics.decide`, and plans by it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from crosscast_parity.checks.statistics import ALPHA, MIN_SEEDS, Interval, quantile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Design = Literal["paired", "unpaired"]
Ratios: TypeAlias = "npt.NDArray[np.float64]"

POWER = 0.9
MAX_SEEDS = 10_000
SPREAD_CONFIDENCE = 0.8
_NODES = 200


def equivalence_power(
    count: int,
    *,
    sd: float,
    margin: float,
    mean: float = 0.0,
    design: Design = "paired",
    alpha: float = ALPHA,
) -> float:
    """Return the probability that `decide` says equivalent.

    Exact under normal differences: for an estimated spread s the interval fits if
    |observed mean| <= margin - t s sqrt(c/n); that probability, integrated over the chi
    distribution of s (the integral of Owen, "A special case of a bivariate non-central
    t-distribution", Biometrika 52, 1965).

    Args:
        count: pairs, or results on each side.
        sd: true standard deviation of a difference, or of a result.
        margin: limit of the difference.
        mean: true difference.
        design: `paired` has c = 1 and n - 1 degrees of freedom, `unpaired` c = 2 and 2n - 2.
        alpha: level of each of the two tests.
    """
    from scipy import special

    if count < MIN_SEEDS:
        return 0.0
    degrees, error = _shape(count, sd, design)
    if error == 0:
        return float(abs(mean) <= margin)
    reach = quantile(alpha, degrees) * error

    def inside(ratio: Ratios) -> Ratios:
        room = margin - reach * ratio
        share: Ratios = special.ndtr((room - mean) / error) - special.ndtr((-room - mean) / error)
        return share

    return _over_spreads(degrees, inside, most=margin / reach)


def _over_spreads(
    degrees: float, chance: Callable[[Ratios], Ratios], most: float = math.inf
) -> float:
    """Return the mean of a chance that depends on s/sd, where s is estimated from normal data.

    It is 0 beyond `most`. s/sd is sqrt(chi2 / degrees).
    """
    import numpy as np
    from scipy import special

    # Beyond the second term lies 1e-12 of the probability.
    top = min(most, math.sqrt(float(special.chdtri(degrees, 1e-12)) / degrees))
    nodes, weights = _gauss_legendre()
    ratio = (nodes + 1) / 2 * top
    log_density = (
        math.log(2)
        + degrees / 2 * math.log(degrees / 2)
        - special.gammaln(degrees / 2)
        + (degrees - 1) * np.log(ratio)
        - degrees * ratio**2 / 2
    )
    return float(np.sum(weights * np.exp(log_density) * chance(ratio)) * top / 2)


@cache
def _gauss_legendre() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return nodes and weights for integrals over [-1, 1]."""
    import numpy as np

    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def difference_power(
    count: int,
    *,
    sd: float,
    margin: float,
    mean: float,
    design: Design = "paired",
    alpha: float = ALPHA,
) -> float:
    """Return the probability that `decide` returns "different" on the side of `mean`.

    One-sided t test of |mean| > margin. It is the upper tail of the non-central t distribution,
    integrated as above: SciPy's is nan where the difference is many times its error.
    """
    from scipy import special

    if count < MIN_SEEDS:
        return 0.0
    degrees, error = _shape(count, sd, design)
    beyond = abs(mean) - margin
    if error == 0:
        return float(beyond > 0)
    reach = quantile(alpha, degrees) * error
    return _over_spreads(degrees, lambda ratio: special.ndtr((beyond - reach * ratio) / error))


def seeds_for(
    *,
    sd: float,
    margin: float,
    mean: float = 0.0,
    power: float = POWER,
    design: Design = "paired",
    alpha: float = ALPHA,
) -> int | None:
    """Return the smallest number of pairs (unpaired: results per side) that settles the question.

    That is the number whose power to show equivalence, or to show a difference if `mean` lies
    outside the margin, reaches `power`; None if it is more than `MAX_SEEDS`.
    """
    shows = equivalence_power if abs(mean) < margin else difference_power

    def reaches(count: int) -> bool:
        got = shows(count, sd=sd, margin=margin, mean=mean, design=design, alpha=alpha)
        return got >= power

    return _smallest(reaches)


def _smallest(reaches: Callable[[int], bool]) -> int | None:
    """Return the first count from MIN_SEEDS on that reaches it: by doubling, then bisection."""
    below, count = MIN_SEEDS - 1, MIN_SEEDS
    while not reaches(count):
        if count == MAX_SEEDS:
            return None
        below, count = count, min(2 * count, MAX_SEEDS)
    while count - below > 1:
        middle = (below + count) // 2
        below, count = (below, middle) if reaches(middle) else (middle, count)
    return count


def more_seeds(interval: Interval, margin: float, *, power: float = POWER) -> int | None:
    """Return how many more seeds a paired comparison needs.

    The spread is taken at its upper 80 % confidence limit: that of a few seeds is too small about
    half of the time, and a plan by it falls short (Browne, "On the use of a pilot sample for sample
    size determination", Statist. Med. 14, 1995). Without any spread (a single seed) the answer is
    what `MIN_SEEDS` still lacks.

    Looking again after more seeds is not free: a difference of exactly the margin is called
    equivalent in up to 9 % of the cases instead of 5 %, over four looks (by simulation).

    Returns:
        The number, at least 1; None if it is more than `MAX_SEEDS`, or if the difference is so
        near the margin that the step of the results hides on which side it lies.
    """
    from scipy import special

    if interval.count < 2:
        return MIN_SEEDS - interval.count
    size, half_step = abs(interval.mean), interval.step / 2
    limit = margin - half_step if size < margin else margin + half_step
    if (size < margin) != (size < limit):
        return None
    degrees = interval.degrees
    low = float(special.chdtri(degrees, SPREAD_CONFIDENCE))
    sd = interval.sd * math.sqrt(degrees / low)
    total = seeds_for(sd=sd, margin=limit, mean=size, power=power, alpha=interval.alpha)
    return None if total is None else max(1, total - interval.count)


def _shape(count: int, sd: float, design: Design) -> tuple[float, float]:
    """Return degrees of freedom and standard error of a design."""
    if design == "paired":
        return float(count - 1), sd / math.sqrt(count)
    return float(2 * count - 2), sd * math.sqrt(2 / count)
