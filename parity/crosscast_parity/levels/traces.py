"""Compare the trace of one target with that of the reference target, check by check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from crosscast.plan.operations import Dtype
from crosscast_parity.checks.check import Check, Deviation, judge, relative
from crosscast_parity.checks.kinds import Level
from crosscast_parity.checks.table import limit_of
from crosscast_parity.levels.envelope import Envelope, Trace
from crosscast_parity.levels.losses import (
    NOTHING,
    Pairs,
    check_first_loss,
    check_trajectory,
)
from crosscast_parity.recordings.trace import TraceRow

KERNELS = 4.0
"""Kernels differ by a few bits: gradients of one framework are never so many times larger."""

LONE = 4
"""Overflows of one side alone in a row: after the first its scale is lower than the other's."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the trace, compared in every window."""

    name: str
    level: Level
    value: Callable[[TraceRow], float | None]

    @property
    def limit(self) -> float:
        """The largest difference that passes; 0 for equality."""
        return limit_of(self.level, self.name)


COLUMNS = (
    Column("micro-batches", "L0a", lambda row: row.n_micro),
    Column("rows", "L0a", lambda row: row.rows),
    Column("scale", "L0a", lambda row: row.scale),
    Column("updates", "L0a", lambda row: row.updates),
    Column("learning rate", "L0a", lambda row: row.lr),
)
GRAD_NORM = Column("gradient norm", "L0c", lambda row: row.grad_norm)


def compare_traces(
    ours: Trace, reference: Trace, envelope: Envelope, *, dtype: Dtype, trajectory: bool = True
) -> tuple[Check, ...]:
    """Compare two runs of the same recipe, weights and batches.

    In float16 an overflow of its own in one framework only shows different kernels, not different
    programs: the check `skipped` is then unclear and later windows are not compared. Neither are
    losses and norms from where they are no numbers on both sides: that is no agreement.

    Args:
        ours: trace of the target.
        reference: trace of the reference target.
        envelope: noise of the reference; the gradient norm is compared up to its horizon.
        dtype: compute dtype of the recipe.
        trajectory: also compare the losses; not for runs with faults, which have no twins.
    """
    skipped = _skipped(ours, reference, natural=dtype == "float16")
    end = min(len(ours), len(reference))
    if skipped.result == "unclear" and skipped.window is not None:
        end = skipped.window
    pairs = list(zip(ours[:end], reference[:end], strict=True))
    sound, diverged = _sound(pairs)
    calm = sound[: envelope.horizon]
    held = replace(envelope, horizon=min(envelope.horizon, len(sound)))
    losses = (check_first_loss(sound, dtype), check_trajectory(calm, held, dtype))
    return (
        _lengths(ours, reference),
        skipped,
        *(_column(column, pairs) for column in COLUMNS),
        _norms(calm, envelope),
        *([diverged] if diverged else ()),
        *(losses if trajectory else ()),
    )


def _sound(pairs: Pairs) -> tuple[Pairs, Check | None]:
    """Return the windows up to the first update whose loss or norm is not finite.

    That window itself is among them if only one side has no number there: then it is the
    difference. If neither has one, a check reports that.
    """
    for count, (a, b) in enumerate(pairs):
        lost = [
            (name, ours is None, reference is None)
            for name, ours, reference in (
                ("loss", a.loss, b.loss),
                ("gradient norm", a.grad_norm, b.grad_norm),
            )
            if ours is None or reference is None
        ]
        if a.skipped or b.skipped or not lost:
            continue
        if any(mine != theirs for _, mine, theirs in lost):
            return pairs[: count + 1], None
        words = f"both diverged in window {a.window}: {lost[0][0]} not finite"
        check = Check(
            level="L0c", name="divergence", result="unclear", wording=words, window=a.window
        )
        return pairs[:count], check
    return pairs, None


def _lengths(ours: Trace, reference: Trace) -> Check:
    same = len(ours) == len(reference)
    return Check(
        level="L0a",
        name="windows",
        result="pass" if same else "fail",
        wording=f"{len(ours)}" if same else f"{len(ours)}, expected {len(reference)}",
        value=float(abs(len(ours) - len(reference))),
        limit=0,
        window=None if same else min(len(ours), len(reference)),
    )


def _skipped(ours: Trace, reference: Trace, *, natural: bool) -> Check:
    pairs = list(zip(ours, reference, strict=False))
    deviations = (
        Deviation(a.window, a.skipped != b.skipped, a.skipped, b.skipped) for a, b in pairs
    )
    check = judge("L0a", "skipped", deviations, 0, nothing=NOTHING)
    if check.result != "fail" or not natural:
        return check
    far = next(_beyond_kernels(pairs), None)
    if far is not None:
        ours_skips, a, b = far[0].skipped, *far
        return replace(
            check,
            window=a.window,
            wording=f"window {a.window}: {'skipped' if ours_skips else 'no overflow'} at scale"
            f" {a.scale:g}, reference {'no overflow' if ours_skips else 'skipped'} at {b.scale:g}",
        )
    return Check(
        level="L0a",
        name="skipped",
        result="unclear",
        wording=f"window {check.window}: gradients overflowed in one framework only; later windows"
        " are not compared. Lower loss_scaling.init_scale to 4096 or less",
        value=check.value,
        limit=0,
        window=check.window,
    )


def _beyond_kernels(pairs: Pairs) -> Iterator[tuple[TraceRow, TraceRow]]:
    """Yield the windows in which one overflows as no other kernel would make it.

    Either at a scale far below that at which the other does not, or once more in a row.
    """
    lone = 0
    for ours, reference in pairs:
        lone = lone + 1 if ours.skipped != reference.skipped else 0
        if lone:
            skips, passes = (ours, reference) if ours.skipped else (reference, ours)
            lower = skips.scale <= passes.scale
            if skips.scale * KERNELS <= passes.scale or (lower and lone >= LONE):
                yield ours, reference


def _column(column: Column, pairs: Pairs) -> Check:
    def deviations() -> Iterator[Deviation]:
        for a, b in pairs:
            ours, expected = column.value(a), column.value(b)
            yield Deviation(
                a.window,
                relative(ours, expected) if column.limit else float(ours != expected),
                ours,
                expected,
            )

    return judge(column.level, column.name, deviations(), column.limit, nothing=NOTHING)


def _norms(pairs: Pairs, envelope: Envelope) -> Check:
    """L0c: up to where the reference's own norm is no longer sure."""
    judged = pairs[: envelope.calm_norms]
    if pairs and not judged:
        words = "rounding moves the reference's own norm too far from the start"
        return Check(level="L0c", name=GRAD_NORM.name, result="not tested", wording=words)
    return _column(GRAD_NORM, [(a, b) for a, b in judged if not (a.skipped or b.skipped)])
