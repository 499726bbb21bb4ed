"""The learning rate of a window as a formula for every schedule shape.

Every target gets its rates from this formula rather than from a built-in schedule class, because
those differ after the last step, in their first value and in their default end rate.
"""

from __future__ import annotations

import math

from crosscast.plan.operations import Schedule


def learning_rate(op: Schedule, position: int) -> float:
    """Return the learning rate at `position`, which counts schedule ticks from 0.

    Warm-up, `position < warmup_steps`: `start + (lr - start) * position / warmup_steps`, where
    `start` is `warmup_start_lr`, the first rate.
    Afterwards `progress = min(1, (position - warmup_steps) / (total_steps - warmup_steps))`,
    or 1 if there are no steps after the warm-up. The clamp keeps the last rate forever.

    With `decay_from` start: `progress = min(1, position / total_steps)`.

    `constant`: `lr`. `linear`: `end + (lr - end) * (1 - progress)`.
    `polynomial`: `end + (lr - end) * (1 - progress)**power`.
    `cosine`: `end + (lr - end) * 0.5 * (1 + cos(pi * progress))`.
    `inverse_sqrt`: `lr * sqrt(warmup_steps / min(position, total_steps))`.
    """
    if position < op.warmup_steps:
        rise = op.learning_rate - op.warmup_start_lr
        return op.warmup_start_lr + rise * position / op.warmup_steps
    if op.name == "constant":
        return op.learning_rate
    if op.name == "inverse_sqrt":
        return op.learning_rate * math.sqrt(op.warmup_steps / min(position, op.total_steps))
    return op.end_lr + (op.learning_rate - op.end_lr) * _remaining(op, position)


def _remaining(op: Schedule, position: int) -> float:
    """Return the remaining part of the rate above `end_lr` at `position`, from 1 to 0."""
    progress = _progress(op, position)
    if op.name == "cosine":
        return 0.5 * (1.0 + math.cos(math.pi * progress))
    return (1.0 - progress) ** op.power if op.name == "polynomial" else 1.0 - progress


def _progress(op: Schedule, position: int) -> float:
    """Return the completed part of the decay at `position`, from 0 to 1."""
    start = op.warmup_steps if op.decay_from == "warmup_end" else 0
    length = op.total_steps - start
    return min(1.0, (position - start) / length) if length > 0 else 1.0
