"""Intervals, equivalence tests and the planner: against simulation and against known tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from crosscast_parity.checks.power import difference_power, equivalence_power, more_seeds, seeds_for
from crosscast_parity.checks.statistics import (
    MIN_SEEDS,
    Interval,
    decide,
    paired_interval,
    quantile,
)
from property_settings import examples

MARGIN = 0.02
DRAWS = 20_000
VALUES = st.lists(st.floats(-10, 10), min_size=3, max_size=12)


def intervals(differences: np.ndarray, step: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the paired interval of every row, by the formula of one (checked below)."""
    n = differences.shape[1]
    unit = paired_interval([-1.0, 1.0, *[0.0] * (n - 2)], [0.0] * n)
    t = unit.half_width / unit.error
    half = t * differences.std(axis=1, ddof=1) / math.sqrt(n) + step / 2
    mean = differences.mean(axis=1)
    return mean - half, mean + half


def share_equivalent(differences: np.ndarray, margin: float, step: float = 0.0) -> float:
    low, high = intervals(differences, step)
    return float(np.mean((low >= -margin) & (high <= margin)))


def test_the_simulated_interval_is_that_of_the_function() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 6))
    low, high = intervals(rows, step=0.1)
    for row, a, b in zip(rows, low, high, strict=True):
        interval = paired_interval(row.tolist(), [0.0] * 6, step=0.1)
        assert (interval.low, interval.high) == pytest.approx((a, b), rel=1e-12)


@pytest.mark.parametrize("count", [3, 5, 10])
def test_the_paired_interval_covers_the_truth_nine_times_of_ten(count: int) -> None:
    low, high = intervals(np.random.default_rng(count).normal(0.3, 2.0, (DRAWS, count)))
    assert np.mean((low <= 0.3) & (high >= 0.3)) == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("count", [3, 5, 10])
@pytest.mark.parametrize("sd", [0.001, 0.01, 0.05])
def test_programs_at_the_margin_are_equivalent_in_at_most_one_case_of_twenty(
    count: int, sd: float
) -> None:
    rng = np.random.default_rng([count, int(sd * 1e4)])
    for truth in (MARGIN, -MARGIN):
        differences = rng.normal(truth, sd, (DRAWS, count))
        assert share_equivalent(differences, MARGIN) <= 0.055


@pytest.mark.parametrize("rows", [128, 256, 1024])
@pytest.mark.parametrize("count", [3, 5, 10])
def test_half_a_step_holds_that_for_accuracies_of_few_rows(rows: int, count: int) -> None:
    rng = np.random.default_rng([rows, count])
    margin = 0.01
    rates, bare = [], []
    for churn in (0, 1, 3, 10):  # rows that change sides both ways, besides the true difference
        better = rng.poisson(margin * rows + churn, (DRAWS, count))
        differences = (better - rng.poisson(churn, (DRAWS, count))) / rows
        rates.append(share_equivalent(differences, margin, step=1 / rows))
        bare.append(share_equivalent(differences, margin))
    assert max(rates) <= 0.054  # 0.05 and what 20 000 draws leave open
    assert max(bare) > 0.05  # so the step is needed


def test_equal_programs_are_called_different_almost_never() -> None:
    low, high = intervals(np.random.default_rng(2).normal(0.0, 0.03, (DRAWS, 5)))
    assert np.mean((low > MARGIN) | (high < -MARGIN)) < 0.01


@pytest.mark.parametrize(
    ("differences", "decision"),
    [
        ((0.001, -0.001, 0.002), "equivalent"),
        ((0.10, 0.11, 0.12), "different"),
        ((-0.10, -0.11, -0.12), "different"),
        ((0.0, 0.04, -0.03), "inconclusive"),
        ((0.018, 0.021, 0.019), "inconclusive"),
        ((0.0, 0.0, 0.0), "equivalent"),
        ((0.03, 0.03, 0.03), "different"),
        ((0.0, 0.0), "inconclusive"),
        ((0.5,), "inconclusive"),
    ],
)
def test_decisions(differences: tuple[float, ...], decision: str) -> None:
    interval = paired_interval(differences, [0.0] * len(differences))
    assert decide(interval, MARGIN) == decision


def test_a_single_pair_has_no_bounds() -> None:
    interval = paired_interval([1.0], [0.5])
    assert (interval.low, interval.high) == (-math.inf, math.inf)


def test_a_difference_within_half_a_step_of_the_margin_is_not_equivalent() -> None:
    interval = paired_interval([0.009] * 4, [0.0] * 4, step=0.004)
    assert decide(interval, 0.01) == "inconclusive"
    assert decide(paired_interval([0.007] * 4, [0.0] * 4, step=0.004), 0.01) == "equivalent"


@pytest.mark.parametrize(("ours", "reference"), [([], []), ([1.0], [1.0, 2.0])])
def test_what_cannot_be_paired_is_refused(ours: list[float], reference: list[float]) -> None:
    with pytest.raises(ValueError, match=r"no results|shorter|longer"):
        paired_interval(ours, reference)


@given(VALUES, st.floats(0.001, 5))
def test_sides_may_be_swapped(differences: list[float], margin: float) -> None:
    zeros = [0.0] * len(differences)
    a, b = paired_interval(differences, zeros), paired_interval(zeros, differences)
    assert (a.low, a.high) == pytest.approx((-b.high, -b.low))
    assert decide(a, margin) == decide(b, margin)


def test_against_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(4)
    a, b = rng.normal(0.01, 0.03, 8), rng.normal(0.0, 0.01, 8)
    paired = paired_interval(a.tolist(), b.tolist())
    expected = stats.ttest_rel(a, b).confidence_interval(0.9)
    assert (paired.low, paired.high) == pytest.approx((expected.low, expected.high))


# power and planning


@pytest.mark.parametrize("count", [3, 5, 12])
@pytest.mark.parametrize("sd", [0.005, 0.012, 0.03])
@pytest.mark.parametrize("mean", [0.0, 0.008])
def test_power_is_what_simulation_says(count: int, sd: float, mean: float) -> None:
    rng = np.random.default_rng([count, int(sd * 1e4), int(mean * 1e4)])
    share = share_equivalent(rng.normal(mean, sd, (DRAWS, count)), MARGIN)
    power = equivalence_power(count, sd=sd, margin=MARGIN, mean=mean)
    assert share == pytest.approx(power, abs=0.012)


@pytest.mark.parametrize("count", [3, 8])
def test_power_of_showing_a_difference_is_what_simulation_says(count: int) -> None:
    low, _ = intervals(np.random.default_rng(count).normal(0.035, 0.01, (DRAWS, count)))
    power = difference_power(count, sd=0.01, margin=MARGIN, mean=0.035)
    assert np.mean(low > MARGIN) == pytest.approx(power, abs=0.012)
    assert power == difference_power(count, sd=0.01, margin=MARGIN, mean=-0.035)


def test_power_of_unpaired_results_is_what_simulation_says() -> None:
    rng, n, sd = np.random.default_rng(5), 6, 0.011
    a, b = rng.normal(0, sd, (DRAWS, n)), rng.normal(0, sd, (DRAWS, n))
    spread = np.sqrt((a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / n)
    t = 1.8124611228107335  # of 10 degrees of freedom
    share = np.mean(np.abs(a.mean(axis=1) - b.mean(axis=1)) + t * spread <= MARGIN)
    power = equivalence_power(n, sd=sd, margin=MARGIN, design="unpaired")
    assert share == pytest.approx(power, abs=0.012)


def test_unpaired_seeds_would_take_hundreds() -> None:
    """Seed spread 0.083 of the eval loss and 0.024 of the accuracy; paired, 0.0054 and 0.0042."""
    assert seeds_for(sd=0.083, margin=0.02, design="unpaired") == 374
    assert seeds_for(sd=0.024, margin=0.01, design="unpaired") == 126
    assert seeds_for(sd=0.0054, margin=0.02) == 3
    assert seeds_for(sd=0.0042, margin=0.01) == 4


@settings(max_examples=examples(60))
@given(st.floats(1e-4, 0.1), st.floats(0.0, 0.06), st.sampled_from(["paired", "unpaired"]))
def test_the_plan_is_the_smallest_that_reaches_the_power(
    sd: float, mean: float, design: str
) -> None:
    plan = seeds_for(sd=sd, margin=MARGIN, mean=mean, design=design)  # type: ignore[arg-type]
    shows = equivalence_power if mean < MARGIN else difference_power

    def power(count: int) -> float:
        return shows(count, sd=sd, margin=MARGIN, mean=mean, design=design)  # type: ignore[arg-type]

    if plan is None:
        assert power(10_000) < 0.9
    else:
        assert power(plan) >= 0.9
        assert plan == MIN_SEEDS or power(plan - 1) < 0.9


@pytest.mark.parametrize("count", range(3, 30, 5))
def test_the_power_to_show_a_difference_is_that_of_the_non_central_t(count: int) -> None:
    for sd in (0.01, 0.05, 0.2):
        found = difference_power(count, sd=sd, margin=MARGIN, mean=0.06)
        theirs = special.nctdtr(
            count - 1, (0.06 - MARGIN) / sd * math.sqrt(count), quantile(0.05, count - 1)
        )
        assert found == pytest.approx(1 - theirs, abs=1e-9)
    # Where SciPy's is nan.
    assert difference_power(count, sd=1e-4, margin=MARGIN, mean=0.06) == pytest.approx(1)


def test_a_difference_at_the_margin_has_no_plan() -> None:
    assert seeds_for(sd=0.01, margin=MARGIN, mean=MARGIN) is None
    interval = paired_interval([0.0199, 0.0201, 0.02], [0.0] * 3, step=0.01)
    assert more_seeds(interval, MARGIN) is None


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_seeds_need_those_that_lack_at_least(count: int) -> None:
    interval = paired_interval([0.001 * n for n in range(count)], [0.0] * count)
    more = more_seeds(interval, MARGIN)
    assert more is not None
    assert count + more >= MIN_SEEDS


def test_the_plan_after_a_few_seeds_is_enough() -> None:
    """Equal programs, three seeds, then as many more as the planner asks for."""
    rng, equivalent, trials = np.random.default_rng(6), 0, 300
    for _ in range(trials):
        found = rng.normal(0.0, 0.015, 3).tolist()
        interval = paired_interval(found, [0.0] * 3)
        if decide(interval, MARGIN) == "inconclusive":
            more = more_seeds(interval, MARGIN)
            if more is None:
                continue
            found += rng.normal(0.0, 0.015, more).tolist()
            interval = paired_interval(found, [0.0] * len(found))
        equivalent += decide(interval, MARGIN) == "equivalent"
    assert equivalent / trials >= 0.9


def test_looking_again_costs_what_the_docstring_says() -> None:
    rng, wrong, trials = np.random.default_rng(7), 0, 400
    for _ in range(trials):
        found = rng.normal(MARGIN, 0.005, 5).tolist()
        for _ in range(4):
            interval = paired_interval(found, [0.0] * len(found))
            more = more_seeds(interval, MARGIN)
            if decide(interval, MARGIN) != "inconclusive" or more is None or more > 100:
                break
            found += rng.normal(MARGIN, 0.005, more).tolist()
        wrong += decide(interval, MARGIN) == "equivalent"
    assert wrong / trials <= 0.12


def test_intervals_are_records() -> None:
    interval = Interval(mean=0.0, sd=1.0, count=4, error=0.5, degrees=3.0)
    assert interval.half_width == pytest.approx(2.353363434801822 / 2)
