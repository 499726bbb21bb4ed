"""Whether gradients are cleared where a window, or an epoch, begins."""

from __future__ import annotations

import ast

from crosscast_reading.trainstep.events import Event, TrainingStep


def clears_first(clear: Event, step: TrainingStep) -> bool:
    """Whether gradients are cleared at the first micro-batch of a window, or of an epoch."""
    loop = step.loop
    first = {f"{loop.counter} == {loop.start}"} if loop is not None and loop.counter else set()
    if loop is not None and loop.counter and loop.start == 0:
        first.add(f"not {loop.counter}")
    return any(
        (g.window is not None and g.window.opens) or (g.holds and ast.unparse(g.node) in first)
        for g in clear.guards
    )
