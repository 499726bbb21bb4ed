"""Where schedules of libraries begin and end, and what they use if nothing is given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.readers.python.library_calls import last, plain

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call

_ENDS: dict[str, tuple[tuple[str, tuple[str, ...], float], ...]] = {
    "polynomialdecay": (
        ("end_lr", ("end_learning_rate", "end_lr"), 1e-4),
        ("power", ("power",), 1.0),
    ),
    "cosineannealingdecay": (("end_lr", ("eta_min",), 0.0),),
    "cosinedecay": (("end_lr", ("alpha",), 0.0),),
    "cosinedecayschedule": (("end_lr", ("alpha",), 0.0),),
    "warmupcosinedecayschedule": (("end_lr", ("end_value",), 0.0),),
}
"""Schedules of libraries: field, its arguments, their default."""


_DECAYS_FROM = {
    re.compile(
        r"paddle\.fluid\.layers\.(learning_rate_scheduler\.)?polynomial_decay"
    ): "start",  # it counts all updates of the program, whatever warm-up stands before it
    re.compile(r"optax\.(schedules\.)?warmup_cosine_decay_schedule"): "warmup_end",
}


def details_of(call: Call, name: str) -> Iterator[tuple[str, float | str]]:
    """Yield the last rate, the power and the begin of a schedule of a library.

    Args:
        call: makes the schedule.
        name: its qualified name.
    """
    for pattern, begin in _DECAYS_FROM.items():
        if pattern.fullmatch(name):
            yield "decay_from", begin
    for field, arguments, usual in _ENDS.get(last(name).lower().replace("_", ""), ()):
        given = next((word for word in arguments if word in call.bound()), None)
        if given is None and call.has_star:
            continue
        value = usual if given is None else plain(call.argument(given))
        if isinstance(value, int | float) and not (given == "alpha" and value):
            yield field, float(value)
