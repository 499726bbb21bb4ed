"""Traces, made up: what passes, and which check catches which deviation."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscast.plan.canonical import canonical_plan
from crosscast_parity.checks.check import Deviation, judge, relative
from crosscast_parity.levels.envelope import CHAOS, FACTOR, NORM_NOISE, Envelope, measure_envelope
from crosscast_parity.levels.losses import FLOOR, check_end, report_evaluation
from crosscast_parity.levels.machine import check_machine
from crosscast_parity.levels.traces import compare_traces
from crosscast_parity.processes.process import OutcomeKind
from crosscast_parity.recordings.status import Evaluation
from crosscast_parity.recordings.trace import TraceRow
from judged_traces import TWINS, changed, ended, failed, judged, paddle_of, reported
from parity_fakes import good_rows, make_recipe

PLAN = canonical_plan(make_recipe())


def test_equal_traces_pass_every_check() -> None:
    found = judged(good_rows())
    assert found.verdict == "EQUIVALENT"
    assert {check.result for check in found.checks} == {"pass"}
    assert found.differences == ()


def test_noise_inside_the_envelope_passes() -> None:
    found = judged(good_rows(noise=3e-6))
    assert found.verdict == "EQUIVALENT"
    assert 0 < next(c.value or 0 for c in found.checks if c.level == "L2") < 1


def test_noise_above_the_envelope_is_different() -> None:
    found = judged(good_rows(noise=FACTOR * 1e-5))
    assert found.verdict == "DIFFERENT"
    assert ("L2", "trajectory") in failed(found.checks)


DEVIATIONS: list[tuple[str, list[TraceRow], set[tuple[str, str]]]] = [
    (
        "scale one window late",
        [
            replace(a, scale=b.scale)
            for a, b in zip(good_rows(), [good_rows()[0], *good_rows()], strict=False)
        ],
        {("L0a", "scale"), ("L0b", "scale")},
    ),
    (
        "rate one tick ahead",
        [replace(a, lr=b.lr) for a, b in zip(good_rows(), good_rows(41)[1:], strict=True)],
        {("L0a", "learning rate"), ("L0b", "learning rate")},
    ),
    (
        "an update too many",
        changed(range(20, 40), lambda r: replace(r, updates=r.updates + 1)),
        {("L0a", "updates"), ("L0b", "updates")},
    ),
    (
        "rows missing",
        changed([6], lambda r: replace(r, rows=12)),
        {("L0a", "rows"), ("L0b", "rows of a window")},
    ),
    (
        "a micro-batch missing",
        changed([6], lambda r: replace(r, n_micro=1)),
        {("L0a", "micro-batches"), ("L0b", "micro-batches of a window")},
    ),
    (
        "skipped for no reason",
        good_rows(skipped=[9]),
        {("L0a", "skipped"), ("L0a", "updates"), ("L0a", "scale"), ("L0a", "learning rate")},
    ),
    (
        "not skipped",
        changed([9], lambda r: replace(r, grad_norm=None)),
        {("L0b", "skip decision"), ("L0c", "gradient norm")},
    ),
    (
        "gradient not divided by the micro-batches",
        changed(range(40), lambda r: replace(r, grad_norm=2 * (r.grad_norm or 0))),
        {("L0c", "gradient norm")},
    ),
    (
        "first loss",
        changed([0], lambda r: replace(r, loss=1.1 + 5e-5)),
        {("L1a", "first loss"), ("L2", "trajectory")},
    ),
    (
        "one loss off by 6e-5, which was under a fixed floor",
        changed([30], lambda r: replace(r, loss=(r.loss or 0) + 6e-5)),
        {("L2", "trajectory")},
    ),
    ("one loss not finite", changed([30], lambda r: replace(r, loss=None)), {("L2", "trajectory")}),
    ("a window missing", good_rows(39), {("L0a", "windows")}),
]


@pytest.mark.parametrize(
    ("rows", "expected"), [d[1:] for d in DEVIATIONS], ids=[d[0] for d in DEVIATIONS]
)
def test_each_deviation_is_caught_by_its_check(
    rows: list[TraceRow], expected: set[tuple[str, str]]
) -> None:
    found = judged(rows)
    assert found.verdict == "DIFFERENT"
    assert expected <= failed(found.checks)
    if "scale" not in {name for _, name in expected}:  # nothing else is blamed
        assert failed(found.checks) == expected


def test_the_message_names_level_window_and_values() -> None:
    found = judged(changed([6], lambda r: replace(r, rows=12)))
    assert found.wording == (
        "different at L0b rows of a window (model/main): window 6: 12, expected 16"
        " (1 window of 40 over the limit)"
    )
    assert [(d.ours.window, d.ours.rows, d.reference.rows) for d in found.differences] == [
        (6, 12, 16)
    ]


def test_machine_follows_the_skips_of_its_own_run() -> None:
    rows = good_rows(skipped=[3, 4, 20])
    assert [row.scale for row in rows[3:6]] == [1024.0, 512.0, 256.0]
    assert all(check.result == "pass" for check in check_machine(PLAN, rows))


def test_rate_that_ticks_on_a_skip_is_caught() -> None:
    attempt = canonical_plan(make_recipe(schedule={"tick": "attempt"}))
    rows = good_rows(skipped=[3], plan=attempt)
    assert failed(check_machine(PLAN, rows)) == {("L0b", "learning rate")}
    assert failed(check_machine(attempt, rows)) == set()


def test_without_scaling_the_scale_is_one_and_nothing_is_skipped() -> None:
    plan = canonical_plan(make_recipe(scaled=False))
    rows = good_rows(plan=plan)
    assert {row.scale for row in rows} == {1.0}
    assert failed(check_machine(plan, rows)) == set()
    assert failed(check_machine(plan, good_rows(plan=plan, skipped=[5]))) == {
        ("L0b", "skip decision")
    }
    assert ("L0b", "scale") in failed(check_machine(plan, good_rows()))


def test_growth_factors_that_float32_rounds_are_not_blamed() -> None:
    plan = canonical_plan(make_recipe(loss_scaling={"growth_factor": 1.1, "growth_interval": 1}))
    rows = [replace(row, scale=row.scale * (1 + 5e-8)) for row in good_rows(20, plan=plan)]
    assert failed(check_machine(plan, rows)) == set()


def test_an_overflow_of_its_own_in_float16_is_inconclusive() -> None:
    found = judged(good_rows(skipped=[25]), dtype="float16")
    assert found.verdict == "INCONCLUSIVE"
    assert "init_scale" in found.wording
    assert failed(found.checks) == set()
    assert judged(good_rows(skipped=[25]), dtype="bfloat16").verdict == "DIFFERENT"


def test_a_difference_before_the_overflow_still_counts() -> None:
    rows = [replace(r, rows=12) if r.window == 6 else r for r in good_rows(skipped=[25])]
    assert judged(rows, dtype="float16").verdict == "DIFFERENT"


def test_envelope_is_the_running_maximum_and_ends_at_chaos() -> None:
    reference = good_rows(30)
    twin = [
        replace(r, loss=(r.loss or 0) + {4: 3e-4, 12: 2 * CHAOS}.get(r.window, 0))
        for r in reference
    ]
    envelope = measure_envelope(reference, [reference, twin])
    assert envelope.spread[3] == 0
    assert envelope.spread[4] == envelope.spread[11] == pytest.approx(3e-4)
    assert envelope.horizon == 12
    assert measure_envelope(reference, []) == Envelope((0.0,) * 30, 30, 0, (0.0,) * 30)
    lost = [replace(r, loss=None) if r.window == 7 else r for r in reference]
    assert measure_envelope(reference, [lost]).horizon == 7
    assert measure_envelope([], []) == Envelope((), 0, 0)


def test_norms_are_compared_while_those_of_the_reference_are_sure() -> None:
    reference = good_rows(30)

    def moved(by: float, windows: range) -> list[TraceRow]:
        return [
            replace(r, grad_norm=(r.grad_norm or 0) * (1 + by * (r.window in windows)))
            for r in reference
        ]

    calm = measure_envelope(reference, [moved(NORM_NOISE / 2, range(20, 30))])
    noisy = measure_envelope(reference, [moved(NORM_NOISE * 2, range(20, 30))])
    wild = measure_envelope(reference, [moved(NORM_NOISE * 2, range(30))])
    assert (calm.calm_norms, noisy.calm_norms, wild.calm_norms) == (30, 20, 0)

    def verdict(ours: list[TraceRow], envelope: Envelope) -> str:
        checks = compare_traces(ours, reference, envelope, dtype="float32")
        return next(c.result for c in checks if c.level == "L0c")

    late, early = moved(0.05, range(20, 30)), moved(0.05, range(5, 6))
    assert verdict(late, calm) == "fail"
    assert verdict(late, noisy) == "pass"
    assert verdict(early, noisy) == "fail"
    assert verdict(reference, wild) == "not tested"


def test_a_horizon_of_less_than_twenty_windows_is_inconclusive() -> None:
    chaotic = [replace(r, loss=(r.loss or 0) + (r.window > 12)) for r in good_rows()]
    found = judged(good_rows(), twins=[chaotic] * 3)
    assert found.verdict == "INCONCLUSIVE"
    assert "lower the learning rate" in found.wording
    # Behind the horizon a difference of the losses says nothing.
    late = changed(range(20, 40), lambda r: replace(r, loss=3.0, grad_norm=9.0))
    assert failed(judged(late, twins=[chaotic] * 3).checks) == set()


def test_too_few_twins_do_not_accuse() -> None:
    rows = changed([30], lambda r: replace(r, loss=(r.loss or 0) + 1e-3))
    assert judged(rows, twins=TWINS[:2]).verdict == "INCONCLUSIVE"
    assert judged(rows).verdict == "DIFFERENT"
    assert judged(good_rows(), twins=[]).verdict == "EQUIVALENT"


def test_limits_follow_the_dtype() -> None:
    rows = changed([30], lambda r: replace(r, loss=(r.loss or 0) + 9e-4))
    assert judged(rows).verdict == "DIFFERENT"
    assert judged(rows, dtype="float16").verdict == "EQUIVALENT"
    assert FLOOR["float32"] < FLOOR["float16"] < FLOOR["bfloat16"]


def louder(by: float) -> list[TraceRow]:
    return changed([30], lambda r: replace(r, loss=(r.loss or 0) + by))


def test_a_late_difference_is_told_from_its_window_on() -> None:
    found = judged(changed(range(30, 40), lambda r: replace(r, loss=(r.loss or 0) + 1e-3)))
    assert "from window 30: " in found.wording


def test_the_last_digit_of_a_loss_is_no_difference() -> None:
    """Twins that happen to be equal to the reference are no reason to ask for every bit."""
    still = measure_envelope(good_rows(), [good_rows()] * 3)
    for by, result in ((2.0**-23, "pass"), (10 * 2.0**-23, "pass"), (50 * 2.0**-23, "fail")):
        rows = louder(1.1 / 1.3 * by)
        checks = compare_traces(rows, good_rows(), still, dtype="float32")
        assert next(c.result for c in checks if c.level == "L2") == result, by


def test_what_half_precision_rounds_is_measured_in_the_first_windows() -> None:
    reference = good_rows()
    exact = [replace(r, loss=(r.loss or 0) + 1e-6 * r.window) for r in reference]

    def rounded(ours: list[TraceRow], other: list[TraceRow]) -> float | None:
        return measure_envelope(ours, [ours] * 3, exact=other).rounded

    assert rounded(reference, exact) == pytest.approx(3e-6)
    assert rounded(good_rows(skipped=[3]), exact) == pytest.approx(3e-6)
    assert rounded(good_rows(skipped=[2]), exact) is None, "window 3 begins with other weights"
    assert rounded(reference, exact[:3]) is None
    assert rounded(reference, []) is None
    envelope = measure_envelope(reference, [reference] * 3, exact=exact)
    for by, result in ((5e-5, "pass"), (7e-5, "fail")):
        rows = louder(by)
        checks = compare_traces(rows, reference, envelope, dtype="float16")
        assert next(c.result for c in checks if c.level == "L2") == result, by


def ends(
    by: float, averages: float = 0.0, *, twins: int = 3, horizon: int = 40
) -> dict[str, tuple[str, float | None]]:
    """The checks of final evaluations whose losses are so far apart, in noise of 1e-6."""
    envelope = Envelope((1e-6,) * 40, horizon, twins)

    def evaluation(off: float, of_averages: float) -> Evaluation:
        average = Evaluation(loss=0.7 + of_averages, accuracy=0.5)
        return Evaluation(loss=0.8 + off, accuracy=0.5, averages=average)

    found = check_end(evaluation(by, averages), evaluation(0.0, 0.0), envelope, "float32")
    return {check.name: (check.result, check.value) for check in found}


def test_the_final_evaluation_is_judged_as_the_last_window() -> None:
    """Running statistics that stop after some calls show in no loss of a window."""
    names = ("final evaluation", "final evaluation of averages")
    for losses, results in (
        ((0.0, 0.0), ("pass", "pass")),
        ((1.9e-5, -1.9e-5), ("pass", "pass")),
        ((2.6e-4, 0.0), ("fail", "pass")),
        ((0.0, -2.6e-4), ("pass", "fail")),
        ((math.inf, 0.0), ("fail", "pass")),
    ):
        found = ends(*losses)
        assert tuple(found[name][0] for name in names) == results, losses


def test_a_final_evaluation_without_measured_noise_is_not_tested() -> None:
    names = ("final evaluation", "final evaluation of averages")
    for found in (ends(9.0, twins=2), ends(9.0, horizon=39)):
        assert found == dict.fromkeys(names, ("not tested", None))
    still = Envelope((0.0,) * 40, 40, 3)
    assert not list(check_end(None, Evaluation(loss=1.0, accuracy=1.0), still, "float32"))


def test_first_loss_is_that_of_the_first_update() -> None:
    reference = good_rows(skipped=[0, 1])
    ours = [replace(r, loss=9.9) if r.window == 0 else r for r in reference]
    envelope = measure_envelope(reference, [])
    checks = compare_traces(ours, reference, envelope, dtype="float32")
    assert next(c for c in checks if c.level == "L1a").result == "pass"
    ours = [replace(r, loss=9.9) if r.window == 2 else r for r in reference]
    checks = compare_traces(ours, reference, envelope, dtype="float32")
    assert next(c for c in checks if c.level == "L1a").window == 2


def test_stopping_alone_is_a_difference() -> None:
    stopped = ended("stopped", "the loss scale collapsed")
    found = judged(good_rows(), outcome=stopped)
    assert found.verdict == "DIFFERENT"
    assert "the loss scale collapsed" in found.wording


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        ("failed", "ERROR"),
        ("timeout", "ERROR"),
        ("cannot_run", "NOT TESTED"),
        ("interrupted", "NOT TESTED"),
    ],
)
def test_unfinished_runs_are_never_a_difference(kind: OutcomeKind, verdict: str) -> None:
    rows = changed([6], lambda r: replace(r, rows=12))[:9]
    found = judged(rows, outcome=ended(kind))
    assert (found.verdict, found.checks) == (verdict, ())
    alone = paddle_of(reported(rows, good_rows(), [], outcome=ended(kind), compared=False))
    assert alone.verdict == verdict


def test_empty_traces_are_inconclusive() -> None:
    found = paddle_of(reported([], [], [[], [], []]))
    assert found.verdict == "INCONCLUSIVE"


def test_evaluation_is_reported_and_never_decides() -> None:
    checks = report_evaluation(
        Evaluation(loss=9.0, accuracy=0.1), Evaluation(loss=0.5, accuracy=0.9)
    )
    assert [check.result for check in checks] == ["info", "info"]
    assert [check.value for check in checks] == pytest.approx([8.5, 0.8])
    assert report_evaluation(None, Evaluation(loss=0.5, accuracy=0.9)) == ()


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_relative_is_zero_only_for_equal_values(a: float, b: float) -> None:
    size = relative(a, b)
    assert (size == 0) == (a == b) or (a != b and abs(a - b) < abs(b) * 5e-324)
    assert relative(None, None) == 0
    assert relative(a, None) == relative(None, a) == math.inf


def test_a_size_that_is_not_a_number_never_passes() -> None:
    deviation = Deviation(0, math.nan, 1.0, 1.0)
    assert judge("L1a", "first loss", [deviation], 1.0, nothing="").result == "fail"
    assert judge("L1a", "first loss", [deviation], 0, nothing="").result == "fail"
