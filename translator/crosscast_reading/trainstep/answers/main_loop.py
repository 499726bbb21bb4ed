"""Which of the training loops of a program is the one that a recipe is about."""

from __future__ import annotations

from collections.abc import Sequence

from crosscast_reading.trainstep.answers import windows
from crosscast_reading.trainstep.events import TrainingStep


def by_weight(steps: Sequence[TrainingStep]) -> list[TrainingStep]:
    """Return training steps, the main loop first: it runs by default and steps an optimizer."""
    return sorted(steps, key=_weight, reverse=True)


def _weight(step: TrainingStep) -> tuple[bool, bool, bool, int]:
    runs = all(guard.by_default is not False for guard in step.under)
    backward = [e for e in step.of("backward") if e.by_default]
    return (
        runs and bool(backward) and bool(step.of("step")),
        windows.is_present(step),
        step.loop is not None and bool(step.of("zero_grad")),
        len(step.events),
    )
