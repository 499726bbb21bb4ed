"""Remainders that stand as a condition where their comparison with 0 is meant: `if step % n:`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from crosscast_reading.pysource.values.value import Known
from crosscast_reading.trainstep.events import Event, Guard, WindowTest


def is_inverted(
    test: WindowTest, under: Sequence[tuple[Event, bool]], events: Sequence[Event]
) -> bool:
    """Whether a loop updates in every round but the one that ends a window.

    Its gradients add up in every round, and all its updates, with all that clears them, stand
    under `step % n` or `step % n != 0`. With n of 2 that is right.

    Args:
        test: the remainder.
        under: the events under it, and whether they happen at the end of its windows.
        events: all events of the loop.
    """
    if not test.by_remainder or (isinstance(test.steps, Known) and test.steps.value == 2):
        return False
    early = [event for event, at_end in under if not at_end]
    applied = [event for event in early if event.kind == "step"]
    if not applied or any(e.kind in ("backward", "step", "zero_grad") for e, end in under if end):
        return False
    round_ = applied[0].loops[-1:]
    inside = [event for event in events if event.loops[-1:] == round_]
    cleared = [event for event in inside if event.kind == "zero_grad"]
    acting = [event for event in inside if event.kind in ("step", "zero_grad")]
    mine = {event.order for event in early}
    passes = [event for event in inside if event.kind == "backward"]
    before = bool(passes) and all(event.order < applied[0].order for event in passes)
    free = all(event.order not in mine for event in passes)
    return bool(cleared) and before and free and all(event.order in mine for event in acting)


def turned(event: Event, keys: Collection[tuple[str, str]]) -> Event:
    """Return an event with inverted tests read as what they are meant to be."""
    guards = tuple(_turned(guard, keys) for guard in event.guards)
    return event if guards == event.guards else replace(event, guards=guards)


def _turned(guard: Guard, keys: Collection[tuple[str, str]]) -> Guard:
    window = guard.window
    if window is None or not window.by_remainder or (window.counter, window.key) not in keys:
        return guard
    meant = replace(window, positive=not window.positive, inverted=True, aligned=False, first=None)
    return replace(guard, window=meant)
