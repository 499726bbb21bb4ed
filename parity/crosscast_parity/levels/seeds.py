"""Results over paired seeds (L3): two one-sided tests on losses and accuracy.

Every seed trains both programs from the same weights with the same order of rows; weights and order
differ from seed to seed. The task, that is the rows, stays the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from crosscast.recipe.document import CrossEntropy, Loss
from crosscast_parity.checks.check import Check, Result
from crosscast_parity.checks.power import more_seeds
from crosscast_parity.checks.statistics import (
    MIN_SEEDS,
    Decision,
    Interval,
    decide,
    paired_interval,
)
from crosscast_parity.checks.table import limit_of
from crosscast_parity.recordings.trace import TraceRow

TAIL = 20
_RESULTS: dict[Decision, Result] = {
    "equivalent": "pass",
    "different": "fail",
    "inconclusive": "unclear",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedResult:
    """What one training came to; None where a value is not finite or the run did not finish.

    `train_loss_tail`: mean of the loss of the last 20 windows.
    """

    seed: int
    train_loss_tail: float | None
    eval_loss: float | None
    eval_accuracy: float | None

    def converged(self, margins: Margins) -> bool:
        """Whether there is a number wherever there is a limit."""
        values = [self.train_loss_tail, self.eval_loss]
        if margins.eval_accuracy is not None:
            values.append(self.eval_accuracy)
        return all(value is not None and math.isfinite(value) for value in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """Largest differences that count as equivalent; None for what is not compared."""

    train_loss: float = limit_of("L3", "training loss")
    eval_loss: float = limit_of("L3", "eval loss")
    eval_accuracy: float | None = limit_of("L3", "accuracy")


MARGINS = Margins()


def margins_of(loss: Loss, reference: Sequence[SeedResult]) -> Margins:
    """Return the largest differences; shares of the loss where that is no cross-entropy in nats."""
    if isinstance(loss, CrossEntropy):
        return MARGINS
    tails = [result.train_loss_tail for result in reference]
    ends = [result.eval_loss for result in reference]
    return replace(
        MARGINS,
        train_loss=MARGINS.train_loss * _mean_size(tails),
        eval_loss=MARGINS.eval_loss * _mean_size(ends),
        eval_accuracy=None,
    )


def _mean_size(values: Sequence[float | None]) -> float:
    sizes = [abs(value) for value in values if value is not None]
    return math.fsum(sizes) / len(sizes) if sizes else 1.0


def train_loss_tail(rows: Sequence[TraceRow]) -> float | None:
    """Return the mean loss of the last 20 windows; skipped windows count as long as it is finite.

    None if there is no row, or if the last update was on a loss that is not finite.
    """
    tail = rows[-TAIL:]
    losses = [row.loss for row in tail if row.loss is not None]
    if not losses or any(row.loss is None and not row.skipped for row in tail):
        return None
    return math.fsum(losses) / len(losses)


def judge_seeds(
    ours: Sequence[SeedResult],
    reference: Sequence[SeedResult],
    margins: Margins = MARGINS,
    *,
    plateau: float | None = None,
    eval_rows: int | None = None,
) -> tuple[Check, ...]:
    """Judge the results of two programs over the seeds that both were given.

    Args:
        ours: results of one program, each seed once.
        reference: those of the other.
        margins: see `Margins`.
        plateau: training loss of a model that has learnt nothing, log(number of labels): a seed
            that only one side gets off is a failure, as one that only one side finishes.
        eval_rows: rows of the evaluation; the accuracy moves in steps of 1 / `eval_rows`.

    Raises:
        ValueError: a seed occurs twice on one side.
    """
    pairs = _pair(ours, reference)
    if not pairs:
        return (
            Check(
                level="L3",
                name="convergence",
                result="not tested",
                wording="no seed has results on both sides",
            ),
        )
    convergence = _convergence(pairs, margins, plateau)
    both = [(a, b) for a, b in pairs if a.converged(margins) and b.converged(margins)]
    if not both:
        return (convergence,)
    step = 1 / eval_rows if eval_rows else 0.0
    columns: tuple[tuple[str, float | None, float, Callable[[SeedResult], float | None]], ...] = (
        ("training loss", margins.train_loss, 0.0, lambda result: result.train_loss_tail),
        ("eval loss", margins.eval_loss, 0.0, lambda result: result.eval_loss),
        ("accuracy", margins.eval_accuracy, step, lambda result: result.eval_accuracy),
    )
    return (
        convergence,
        *(
            _judge(
                name,
                paired_interval(
                    _values(value(a) for a, _ in both),
                    _values(value(b) for _, b in both),
                    step=size,
                ),
                margin,
            )
            for name, margin, size, value in columns
            if margin is not None
        ),
    )


def _pair(
    ours: Sequence[SeedResult], reference: Sequence[SeedResult]
) -> list[tuple[SeedResult, SeedResult]]:
    sides = [{result.seed: result for result in side} for side in (ours, reference)]
    if [len(side) for side in sides] != [len(ours), len(reference)]:
        raise ValueError("a seed occurs twice")
    return [(sides[0][seed], sides[1][seed]) for seed in sorted(sides[0].keys() & sides[1].keys())]


def _values(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _convergence(
    pairs: Sequence[tuple[SeedResult, SeedResult]], margins: Margins, plateau: float | None
) -> Check:
    """Fail if a seed converges on one side only; one that neither side gets done says little."""
    lone = [(a, _divergence_of(a, b, margins, plateau)) for a, b in pairs]
    apart = [(result.seed, why) for result, why in lone if why]
    neither = [a.seed for a, b in pairs if not (a.converged(margins) or b.converged(margins))]
    result: Result = "fail" if apart else "unclear" if neither else "pass"
    if apart:
        words = f"seed {apart[0][0]} {apart[0][1]} ({len(apart)} of {_seeds(len(pairs))})"
    elif neither:
        words = f"{len(neither)} of {_seeds(len(pairs))} did not converge on either side"
    else:
        words = f"{_seeds(len(pairs))} on both sides"
    return Check(
        level="L3",
        name="convergence",
        result=result,
        wording=words,
        value=float(len(apart)),
        limit=0.0,
    )


def _divergence_of(
    ours: SeedResult, reference: SeedResult, margins: Margins, plateau: float | None
) -> str:
    """Say which side alone did not converge; empty if both did or neither."""
    if ours.converged(margins) != reference.converged(margins):
        return f"did not converge{'' if reference.converged(margins) else ' in the reference'}"
    a, b = ours.train_loss_tail, reference.train_loss_tail
    if plateau is None or a is None or b is None or abs(a - b) <= margins.train_loss:
        return ""
    if (a >= plateau) == (b >= plateau):
        return ""
    return f"learnt nothing{'' if a >= plateau else ' in the reference'}"


def _judge(name: str, interval: Interval, margin: float) -> Check:
    decision = decide(interval, margin)
    mean = f"{round(interval.mean, 3) + 0.0:+.3f}"  # + 0.0: no "-0.000"
    words = f"{mean} ± {interval.half_width:.3f} (limit {margin:g})"
    if interval.count < 2:
        words = f"{mean} in one seed (limit {margin:g})"
    if decision == "inconclusive":
        words += f", {needs(interval, margin)}"
    return Check(
        level="L3",
        name=name,
        result=_RESULTS[decision],
        wording=words,
        value=max(abs(interval.low), abs(interval.high)),
        limit=margin,
    )


def needs(interval: Interval, margin: float) -> str:
    """Say how many more seeds an inconclusive comparison needs."""
    if interval.step / 2 >= margin:
        return "too few evaluation rows"
    if interval.count < MIN_SEEDS:
        more: int | None = MIN_SEEDS - interval.count
    else:
        more = more_seeds(interval, margin)
    if more is None:
        return "too close to the limit for any number of seeds"
    return f"needs {more} more {'seed' if more == 1 else 'seeds'}"


def _seeds(count: int) -> str:
    return f"{count} {'seed' if count == 1 else 'seeds'}"
