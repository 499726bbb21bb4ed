"""Reads how long a schedule of optax is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_jax.reading.names import NAME
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import canonical, last, plain
from crosscast_reading.readers.python.optimizers import rate_of
from crosscast_reading.readers.python.schedules import between

if TYPE_CHECKING:
    from crosscast_reading.facts.fact import Fact
    from crosscast_reading.pysource.programs.call import Call

_LENGTHS = {
    "warmup_cosine_decay_schedule": "decay_steps",
    "cosine_decay_schedule": "decay_steps",
    "linear_schedule": "transition_steps",
    "polynomial_schedule": "transition_steps",
}
"""Schedules that are as long as an argument says, their warm-up included; a part of several is
another matter."""


def length_of_schedule(optimizer: Call) -> Iterator[Fact]:
    """Yield the length of the schedule that an optimizer is given whole."""
    rate = rate_of(optimizer)
    if rate is None:
        return
    calls = [
        where.call(node)
        for node, where in chase(rate, optimizer.module.owner_of(rate))
        if isinstance(node, ast.Call)
    ]
    ours = [call for call in calls if canonical(call.name).startswith("optax.")]
    if len(ours) != 1 or last(ours[0].name) not in _LENGTHS:
        return
    call = ours[0]
    name, span = last(call.name), call.module.span(call.node)
    waits = plain(call.argument("transition_begin"))
    if _LENGTHS[name] == "transition_steps" and (waits or between(call) == "warmup"):
        return  # the run goes on after it
    length = call.argument(_LENGTHS[name])
    if length is not None:
        yield fact_of("schedule.total_steps", length, span, reader=NAME)
