"""L3: what is said about results over paired seeds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from crosscast.recipe.document import CrossEntropy, MeanSquaredError
from crosscast_parity.checks.check import Check
from crosscast_parity.levels.seeds import (
    MARGINS,
    Margins,
    SeedResult,
    judge_seeds,
    margins_of,
    train_loss_tail,
)
from parity_fakes import good_rows

CHANCE = math.log(3)


def results(
    *, seeds: int = 5, loss: float = 0.0, accuracy: float = 0.0, noise: float = 0.0, draw: int = 0
) -> list[SeedResult]:
    """Results whose seeds differ much; `loss`, `accuracy` and `noise` come on top."""
    rng, own = np.random.default_rng(0), np.random.default_rng(draw)
    found = []
    for seed in range(seeds):
        base, off = 0.4 + 0.08 * rng.normal(), noise * own.normal()
        found.append(
            SeedResult(
                seed=seed,
                train_loss_tail=base + loss + off,
                eval_loss=base + 0.05 + loss + off,
                eval_accuracy=0.9 - base / 10 + accuracy,
            )
        )
    return found


def by_name(checks: tuple[Check, ...]) -> dict[str, Check]:
    assert {check.level for check in checks} == {"L3"}
    return {check.name: check for check in checks}


def lost(result: SeedResult) -> SeedResult:
    return replace(result, train_loss_tail=None, eval_loss=None, eval_accuracy=None)


def test_equal_programs_pass_whatever_the_seeds_do() -> None:
    checks = by_name(judge_seeds(results(noise=0.002, draw=1), results(noise=0.002, draw=2)))
    assert {check.result for check in checks.values()} == {"pass"}
    assert list(checks) == ["convergence", "training loss", "eval loss", "accuracy"]
    assert checks["convergence"].wording == "5 seeds on both sides"


def test_the_wording_can_be_quoted() -> None:
    ours = [
        replace(result, eval_loss=(result.eval_loss or 0) + d)
        for result, d in zip(results(), (-0.005, 0.004, -0.008, 0.003, 0.001), strict=True)
    ]
    check = by_name(judge_seeds(ours, results()))["eval loss"]
    assert f"{check.name} {check.wording}" == "eval loss -0.001 ± 0.005 (limit 0.02)"
    assert check.limit == 0.02
    assert check.value == pytest.approx(0.006, abs=1e-5)


def test_equal_results_are_not_called_minus_zero() -> None:
    ours = [replace(result, eval_loss=(result.eval_loss or 0) - 1e-7) for result in results()]
    assert by_name(judge_seeds(ours, results()))["eval loss"].wording.startswith("+0.000 ± 0.000")


@pytest.mark.parametrize("loss", [0.1, -0.1])
def test_a_shift_beyond_the_limits_fails(loss: float) -> None:
    checks = by_name(judge_seeds(results(loss=loss, noise=0.01, draw=3), results()))
    assert checks["training loss"].result == checks["eval loss"].result == "fail"
    assert checks["accuracy"].result == "pass"
    assert checks["eval loss"].wording.startswith("+0.098" if loss > 0 else "-0.102")


def test_too_much_noise_says_how_many_seeds_it_takes() -> None:
    check = by_name(judge_seeds(results(noise=0.05, draw=1), results(noise=0.05, draw=2)))
    assert check["eval loss"].result == "unclear"
    assert check["eval loss"].wording.endswith("more seeds")
    assert "needs" in check["eval loss"].wording


@pytest.mark.parametrize(("seeds", "words"), [(1, "needs 2 more seeds"), (2, "needs 1 more seed")])
def test_few_seeds_need_more_even_if_they_are_equal(seeds: int, words: str) -> None:
    checks = by_name(judge_seeds(results(seeds=seeds), results(seeds=seeds)))
    for name in ("training loss", "eval loss", "accuracy"):
        assert checks[name].result == "unclear"
        assert checks[name].wording.endswith(words)


@pytest.mark.parametrize("ours_fails", [True, False])
def test_a_seed_that_converges_on_one_side_only_fails(ours_fails: bool) -> None:
    good, bad = results(), [*results()[:3], lost(results()[3]), results()[4]]
    checks = by_name(judge_seeds(bad, good) if ours_fails else judge_seeds(good, bad))
    where = "" if ours_fails else " in the reference"
    assert checks["convergence"].result == "fail"
    assert checks["convergence"].wording == f"seed 3 did not converge{where} (1 of 5 seeds)"
    assert checks["eval loss"].result == "pass"  # of the others


def test_a_value_that_is_not_finite_is_no_convergence() -> None:
    bad = [replace(results()[0], eval_loss=math.nan), *results()[1:]]
    assert by_name(judge_seeds(bad, results()))["convergence"].result == "fail"


def test_seeds_that_neither_side_gets_done_are_unclear() -> None:
    side = [lost(results()[0]), *results()[1:]]
    checks = by_name(judge_seeds(side, side))
    assert checks["convergence"].result == "unclear"
    assert checks["convergence"].wording == "1 of 5 seeds did not converge on either side"
    assert list(by_name(judge_seeds([side[0]], [side[0]]))) == ["convergence"]


@pytest.mark.parametrize("ours_fails", [True, False])
def test_learning_nothing_on_one_side_fails(ours_fails: bool) -> None:
    good = results()
    stuck = [replace(good[0], train_loss_tail=1.1, eval_loss=1.1, eval_accuracy=0.33), *good[1:]]
    sides = (stuck, good) if ours_fails else (good, stuck)
    check = by_name(judge_seeds(*sides, plateau=CHANCE))["convergence"]
    assert check.result == "fail"
    assert check.wording.startswith("seed 0 learnt nothing")
    assert ("reference" in check.wording) != ours_fails
    assert by_name(judge_seeds(*sides))["convergence"].result == "pass"


def test_two_sides_near_the_plateau_are_no_failure() -> None:
    ours = [replace(result, train_loss_tail=1.0985) for result in results()]
    reference = [replace(result, train_loss_tail=1.0987) for result in results()]
    assert by_name(judge_seeds(ours, reference, plateau=CHANCE))["convergence"].result == "pass"


def test_accuracies_of_few_rows_are_not_trusted_to_the_last_row() -> None:
    ours = results(accuracy=0.008)
    assert by_name(judge_seeds(ours, results()))["accuracy"].result == "pass"
    assert by_name(judge_seeds(ours, results(), eval_rows=200))["accuracy"].result == "unclear"


def test_very_few_rows_can_never_tell() -> None:
    check = by_name(judge_seeds(results(), results(), eval_rows=32))["accuracy"]
    assert check.wording == "+0.000 ± 0.016 (limit 0.01), too few evaluation rows"


def test_only_common_seeds_count() -> None:
    checks = by_name(judge_seeds(results(seeds=7), results(seeds=4)))
    assert checks["convergence"].wording == "4 seeds on both sides"
    (none,) = judge_seeds(results(seeds=2)[1:], results(seeds=1))
    assert none.result == "not tested"
    assert judge_seeds([], [])[0].result == "not tested"


def test_a_seed_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        judge_seeds([*results(), results()[0]], results())


def test_margins_may_be_others() -> None:
    wide = Margins(train_loss=1.0, eval_loss=1.0, eval_accuracy=0.5)
    checks = judge_seeds(results(loss=0.1), results(), wide)
    assert {check.result for check in checks} == {"pass"}


def test_clean_pairs_raise_no_alarm() -> None:
    """Rounding-size differences as measured between frameworks, 200 pairs of five seeds."""
    found = [
        {c.result for c in judge_seeds(results(noise=0.0054, draw=n), results(), eval_rows=1024)}
        for n in range(200)
    ]
    assert all("fail" not in outcomes for outcomes in found)
    assert sum(outcomes == {"pass"} for outcomes in found) >= 196


# the tail of a trace


def test_the_tail_is_the_mean_of_twenty_windows() -> None:
    rows = good_rows(40)
    expected = sum(row.loss or 0.0 for row in rows[20:]) / 20
    assert train_loss_tail(rows) == pytest.approx(expected, rel=1e-15)
    assert train_loss_tail(rows[:1]) == rows[0].loss
    assert train_loss_tail([]) is None


def test_a_skipped_window_without_a_loss_is_left_out_but_not_an_update() -> None:
    rows = good_rows(40)
    skipped = [*rows[:-1], replace(rows[-1], loss=None, skipped=True)]
    assert train_loss_tail(skipped) == pytest.approx(train_loss_tail(rows), rel=1e-2)
    assert train_loss_tail([*rows[:-1], replace(rows[-1], loss=None)]) is None


def without_accuracy(found: list[SeedResult], factor: float = 1.0) -> list[SeedResult]:
    """Return results of a loss of another unit, which has no accuracy."""
    return [
        replace(
            result,
            train_loss_tail=factor * (result.train_loss_tail or 0),
            eval_loss=factor * (result.eval_loss or 0),
            eval_accuracy=None,
        )
        for result in found
    ]


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("off", "result"), [(1.001, "pass"), (1.1, "fail")])
def test_a_loss_of_any_unit_is_compared_by_its_share(unit: float, off: float, result: str) -> None:
    theirs = without_accuracy(results(), unit)
    ours = without_accuracy(results(), unit * off)
    margins = margins_of(MeanSquaredError(kind="mse"), theirs)
    checks = by_name(judge_seeds(ours, theirs, margins))
    assert list(checks) == ["convergence", "training loss", "eval loss"]
    assert checks["convergence"].result == "pass"
    assert {checks[name].result for name in ("training loss", "eval loss")} == {result}


def test_a_loss_without_accuracy_can_diverge() -> None:
    theirs = without_accuracy(results())
    ours = [lost(theirs[0]), *theirs[1:]]
    margins = margins_of(MeanSquaredError(kind="mse"), theirs)
    assert by_name(judge_seeds(ours, theirs, margins))["convergence"].result == "fail"


def test_a_cross_entropy_is_compared_in_nats() -> None:
    assert margins_of(CrossEntropy(), results()) is MARGINS
