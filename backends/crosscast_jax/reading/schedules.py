"""Reads how long a schedule of optax is, and where its warm-up begins."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_jax.reading.names import NAME
from crosscast_reading.facts.fact import unknown
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import canonical, last, value_of
from crosscast_reading.readers.python.optimizers import rate_of

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
_WARMS = "warmup_cosine_decay_schedule"


def length_of_schedule(optimizer: Call) -> Iterator[Fact]:
    """Yield the length of the schedule that an optimizer is given whole, and its first rate."""
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
    length = call.argument(_LENGTHS[name])
    if length is not None:
        yield fact_of("schedule.total_steps", length, span, reader=NAME)
    if name == _WARMS:
        yield from _start(call)


def _start(call: Call) -> Iterator[Fact]:
    """Yield that a warm-up does not begin at 0, or that where it begins is not known."""
    begin = value_of(call.bound().get("init_value"), call.module)
    span = call.module.span(call.node)
    match begin:
        case Known(value=0):
            return
        case Known(value=int() | float()):
            above = Known("above_zero", "literal")
            yield fact_of("schedule.warmup_start", above, span, reader=NAME)
        case _:
            reason = "where the warm-up begins was not read"
            yield unknown("schedule.warmup_start", reason, span, reader=NAME)
