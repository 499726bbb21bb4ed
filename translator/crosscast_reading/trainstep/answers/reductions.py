"""Which `no_sync` holds back the reduction of a backward pass.

`DistributedDataParallel` asks in its forward pass (measured: tests/probes/torch/test_reductions.py;
so does Paddle's DataParallel, by its source), FSDP and DeepSpeed in the backward pass.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from crosscast_reading.trainstep.events import HELD_BACK

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.trainstep.events import Context, Event, TrainingStep

_IN_FORWARD = re.compile(r"DistributedDataParallel|\bDDP\b|^paddle\.[\w.]*DataParallel$")
_IN_BACKWARD = re.compile(r"FullyShardedDataParallel|\bFSDP\b|fully_shard$|^deepspeed\.initialize$")


def held_back(event: Event, step: TrainingStep) -> Context | None:
    """Return the `no_sync` that holds back the reduction of a backward pass; None for none.

    Where it is not seen which wrapper the model has, the block around the backward pass counts.
    """
    own = event.context("no_sync")
    if not _asks_in_forward(step, own):
        return own
    asked = _asked(event, step)
    return asked[-1].context("no_sync") if asked else own


def is_certain(event: Event, step: TrainingStep) -> bool:
    """Whether it is known which block counts, or both passes agree.

    An attribute that is set between the passes holds for the forward pass of the next round.
    """
    asked, own = _asked(event, step), event.context("no_sync")
    if own is not None and own.name == HELD_BACK and asked:
        return asked[-1].context("no_sync") is not None
    if not asked or _asks_in_forward(step, own) or _wrappers(step.module.program)[1]:
        return True
    return (asked[-1].context("no_sync") is None) == (own is None)


def _asks_in_forward(step: TrainingStep, own: Context | None) -> bool:
    in_forward, in_backward = _wrappers(step.module.program)
    attribute = own is not None and own.name == HELD_BACK
    return attribute or (in_forward and not in_backward)


def _asked(event: Event, step: TrainingStep) -> list[Event]:
    """Return the forward passes of the model of a `no_sync` that a backward pass may be of."""
    passes = [
        e
        for e in step.of("forward")
        if e.context("no_grad") is None and e.order < event.order and not e.excludes(event)
    ]
    held = [c for e in (*passes, event) if (c := e.context("no_sync")) is not None]
    owners = {context.subject for context in held}
    named = [e for e in passes if e.subject in owners]
    return named or (passes if held else [])


@lru_cache(maxsize=64)
def _wrappers(program: Program) -> tuple[bool, bool]:
    """Return whether a program has wrappers that ask in the forward, and in the backward pass."""
    names = [call.name or call.method for module in program.modules for call in module.calls]
    return any(map(_IN_FORWARD.search, names)), any(map(_IN_BACKWARD.search, names))
