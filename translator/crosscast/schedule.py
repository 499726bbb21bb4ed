"""The learning rate of a window: one formula for every shape, evaluated, never stepped.

Every target gets its rates from this formula rather than from a built-in schedule class, because
those differ after the last step, in their first value and in their default end rate.
"""

from __future__ import annotations

import math

from crosscast.plan import Schedule


def learning_rate(op: Schedule, position: int) -> float:
    """Return the learning rate at `position`, which counts schedule ticks from 0.

    Warm-up, `position < warmup_steps`: `lr * position / warmup_steps`, so the first rate is 0.
    Afterwards `progress = min(1, (position - warmup_steps) / (total_steps - warmup_steps))`,
    and 1 where there is nothing left after the warm-up. The clamp keeps the last rate for ever.

    `constant`: `lr`. `linear`: `end + (lr - end) * (1 - progress)`.
    `cosine`: `end + (lr - end) * 0.5 * (1 + cos(pi * progress))`.
    """
    if position < op.warmup_steps:
        return op.learning_rate * position / op.warmup_steps
    if op.name == "constant":
        return op.learning_rate
    progress = _progress(op, position)
    left = 0.5 * (1.0 + math.cos(math.pi * progress)) if op.name == "cosine" else 1.0 - progress
    return op.end_lr + (op.learning_rate - op.end_lr) * left


def _progress(op: Schedule, position: int) -> float:
    """The part of the decay that lies behind `position`, from 0 to 1."""
    length = op.total_steps - op.warmup_steps
    if length <= 0:
        return 1.0
    return min(1.0, (position - op.warmup_steps) / length)
