"""CL601: gradients are all-reduced after every micro-batch of a window."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import backward_of, eager_steps, own_windows
from crosscast_reading.lint.answers.windows import end_tests
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.distributed._data_parallel import wraps
from crosscast_reading.sources.connected import connected
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import ASKED_LATE, HELD_BACK

_HELD = ("no_sync", HELD_BACK, ASKED_LATE)
"""Words of programs that hold back the all-reduce in some way."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find windows under DistributedDataParallel without any no_sync."""
    wraps_made = wraps(subject)
    for step in eager_steps(subject) if wraps_made else ():
        group = connected(step.module)
        wrapped = [call for call in wraps_made if call.module in group]
        if not wrapped or any(word in module.code for word in _HELD for module in group):
            continue
        backward = backward_of(step)
        if not own_windows(step) or not end_tests(step) or any(e.library for e in backward):
            continue
        for first in backward[:1]:
            yield Finding(
                span=first.span,
                message="the gradients are all-reduced after every micro-batch, but only their sum "
                "is used",
                hint="run all micro-batches except the last within `model.no_sync()`",
                related=(wrapped[0].module.span(wrapped[0].node),),
            )


RULE = Rule("CL601", check, hints=("DistributedDataParallel", "DDP"))
