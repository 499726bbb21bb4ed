"""How the warm-up of a library and the schedule after it are joined."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.readers.python.library_calls import last, plain

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module

_NEAR = 1e-9


def is_none(value: Value | None) -> bool:
    """Whether a value is None in every run."""
    return isinstance(value, Known) and value.value is None and not value.flag


def has_no_target(call: Call) -> bool:
    """Whether it is a CosineDecay of Keras without `warmup_target`: its warm-up has no effect."""
    bound = call.bound()
    if last(call.name) != "CosineDecay" or "warmup_steps" not in bound or call.has_star:
        return False
    return "warmup_target" not in bound or is_none(call.argument("warmup_target"))


def form_of_joint(
    warm: Call, bases: Sequence[tuple[ast.expr, Module]], around: Iterable[Call]
) -> str:
    """Return how a warm-up is joined to what follows; empty if as in a recipe, or not known.

    Args:
        warm: the warm-up.
        bases: the rate from which the schedule after it falls, if there is one.
        around: calls around it, one of which may join schedules.
    """
    around = list(around)
    rates = [rate for rate in _rates(warm, bases, around) if isinstance(rate, int | float)]
    if rates and max(rates) - min(rates) > _NEAR * max(rates):
        return "jump"
    length = plain(warm.argument("transition_steps"))
    for joint in around:
        if last(joint.name) == "join_schedules" and isinstance(length, int):
            match plain(joint.argument("boundaries")):
                case [int(step), *_] | (int(step), *_) if step != length:
                    return "apart"
    return ""


def _rates(
    warm: Call, bases: Sequence[tuple[ast.expr, Module]], around: Iterable[Call]
) -> Iterator[object]:
    """Yield the rates at the end of a warm-up and after it."""
    yield plain(warm.argument("end_value" if "end_value" in warm.bound() else "end_lr"))
    yield plain(warm.argument("learning_rate"))
    yield from (plain(evaluate(*base)) for base in bases)
    constants = [call for call in around if last(call.name) == "constant_schedule"]
    if len(constants) == 1 and not bases:
        yield plain(constants[0].argument("value"))
