"""Scales after an overflow, where the original adjusts them after backward passes.

Apex has one scale per loss and adjusts it after every backward pass; GradScaler has one scale and
adjusts it once per update. What follows from that is known, so that any other scale is an error.
"""

from __future__ import annotations

from dataclasses import replace

from crosscast_parity.side_by_side.recording import RecordedAttempt, Recording

PER_PASS = (
    "with an overflow injected, the original lowers its scale {passes} times in one update, "
    "the migrated script once"
)
PER_LOSS = (
    "with an overflow injected, the migrated script lowers the scale of all losses, the original "
    "that of one loss"
)


def as_after_updates(left: Recording, right: Recording) -> tuple[Recording, tuple[str, ...]]:
    """Return the original with the scales of a scaler that adjusts them once per update.

    Only what is explained by the moment of the adjustment is replaced.

    Args:
        left: the original, in which one overflow was injected.
        right: the migrated script with the same overflow.

    Returns:
        The recording, and notes on what was replaced.
    """
    number = next((n for n, attempt in enumerate(left.attempts) if attempt.skipped), -1)
    skip = left.attempts[number]
    factor = skip.rules.get("backoff_factor")
    if number < 0 or skip.scale is None or factor is None:
        return left, ()
    once, notes = skip.scale * factor, []
    rest = list(left.attempts[number + 1 :])
    mine = next((attempt for attempt in rest if attempt.optimizer == skip.optimizer), None)
    if mine and skip.backwards > 1 and mine.scale == skip.scale * factor**skip.backwards:
        more = factor ** (skip.backwards - 1)
        rest = [_scaled(a, 1 / more) if a.optimizer == skip.optimizer else a for a in rest]
        notes.append(PER_PASS.format(passes=skip.backwards))
    for n, other in enumerate(right.attempts[number + 1 : len(left.attempts)]):
        differ = rest[n].scale != other.scale and rest[n].optimizer != skip.optimizer
        if differ and {rest[n].scale, other.scale} == {skip.scale, once}:
            rest[n] = replace(rest[n], scale=other.scale)
            notes.append(PER_LOSS)
    attempts = (*left.attempts[: number + 1], *rest)
    return replace(left, attempts=attempts), tuple(dict.fromkeys(notes))


def _scaled(attempt: RecordedAttempt, factor: float) -> RecordedAttempt:
    return replace(attempt, scale=None if attempt.scale is None else attempt.scale * factor)
