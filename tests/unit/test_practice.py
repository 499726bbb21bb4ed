"""The rules of common practice that the mutation score is held against."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crosscast_parity.judge.records import Run
from crosscast_parity.processes.process import Outcome
from crosscast_parity.recordings.status import Evaluation, Status
from crosscast_parity.recordings.trace import TraceRow
from mutants.practice import alarms, means_differ

ROW = TraceRow(
    window=0,
    n_micro=4,
    rows=16,
    loss=1.0,
    lr=0.1,
    grad_norm=1.0,
    scale=1.0,
    skipped=False,
    updates=1,
)


def run(*, accuracy: float | None = 0.9, changes: dict[int, float | None] | None = None) -> Run:
    losses: dict[int, float | None] = dict.fromkeys(range(64), 1.0)
    losses |= changes or {}
    status = Status(status="finished", eval=Evaluation(loss=0.3, accuracy=accuracy))
    return Run(
        contestant="a",
        stage="tiny",
        name="main",
        outcome=Outcome(kind="finished", status=status),
        rows=tuple(replace(ROW, window=w, loss=loss) for w, loss in losses.items()),
    )


def test_equal_runs_raise_no_alarm() -> None:
    assert alarms(run(), run()) == ()


def test_only_every_fifth_of_the_first_fifty_losses_counts() -> None:
    assert alarms(run(changes={10: 1.06}), run()) == ("loss-5",)
    assert alarms(run(changes={10: 1.04, 11: 2.0, 50: 2.0, 55: 2.0}), run()) == ()
    assert alarms(run(changes={10: None}), run()) == ("loss-5",)
    assert alarms(run(changes={10: None}), run(changes={10: None})) == ()


def test_a_run_that_ends_early_differs() -> None:
    short = replace(run(), rows=run().rows[:20])
    assert "loss-5" in alarms(short, run())


def test_accuracies() -> None:
    assert alarms(run(accuracy=0.9015), run()) == ()
    assert alarms(run(accuracy=0.902), run()) == ("accuracy-0.15",)
    assert alarms(run(accuracy=0.889), run()) == ("accuracy-1", "accuracy-0.15")
    assert alarms(run(accuracy=None), run()) == ("accuracy-1", "accuracy-0.15")


def test_unpaired_means() -> None:
    assert not means_differ([0.30, 0.34, 0.29, 0.33], [0.31, 0.32, 0.30, 0.33])
    assert means_differ([0.40, 0.41, 0.42, 0.40], [0.30, 0.31, 0.32, 0.30])


def test_unpaired_means_against_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(4)
    found = []
    for _ in range(200):
        ours, reference = rng.normal(1.0, 1.0, 8), rng.normal(0.0, 0.5, 5)
        p = stats.ttest_ind(ours, reference, equal_var=False).pvalue
        found.append(means_differ(ours.tolist(), reference.tolist()))
        assert found[-1] == (p < 0.05)
    assert 40 < sum(found) < 160


def test_unpaired_means_without_a_spread() -> None:
    assert not means_differ([0.3, 0.3], [0.3, 0.3])
    assert means_differ([0.4, 0.4], [0.3, 0.3])
    assert not means_differ([0.4], [0.3, 0.3])
