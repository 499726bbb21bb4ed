"""Facts about what happens in a training loop only with flags that are off by default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crosscast_reading.facts.fact import Fact
from crosscast_reading.trainstep.events import Event


def off_by_default(field: str, value: str, events: Sequence[Event], reader: str) -> Fact | None:
    """Return the value of a field while none of some events happens; None if one does by default.

    Args:
        field: of the recipe.
        value: what holds without the events.
        events: what would happen with other flags.
        reader: the name of the reader.
    """
    if not events or any(event.by_default for event in events):
        return None
    tests = [guard for guard in events[0].guards if guard.by_default is False]
    return Fact(
        field=field,
        value=value,
        under=tuple(replace(test, holds=not test.holds).words for test in tests),
        places=tuple(dict.fromkeys(event.span for event in events)),
        origin="presence",
        reader=reader,
    )
