"""Reads the bound on the norm of all gradients that the steps of apex's LAMB have inside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Confidence, Fact
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.default_conditions import runs_by_default
from crosscast_reading.readers.python.fact_writer import FactWriter, is_number, place_of
from crosscast_reading.readers.python.library_calls import calls_matching
from crosscast_reading.trainstep.answers import step as steps
from crosscast_reading.trainstep.steps.search import training_steps

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_LAMB = re.compile(
    r"apex\.(contrib\.)?optimizers(\.\w+)?\.((Distributed)?FusedLAMB|FusedMixedPrecisionLamb)"
)
_DEFAULT = 1.0
_AGAIN = "the optimizer clips again, by a bound of its own"


def tell_fused_clip(writer: FactWriter, program: Program) -> None:
    """Record the bound, unless a loop of the program clips, too."""
    if any(steps.clips(step) for step in training_steps(program)):
        return  # see clipped_again
    for call in _calls(program):
        node = call.bound().get("max_grad_norm")
        place = place_of(call) if node is None else call.module.owner_of(node).span(node)
        sure = runs_by_default(call.node, call.module) is True
        limit = _limit(call)
        if limit == 0.0:
            writer.unknown("clipping.kind", "a bound of 0 leaves no gradient", place)
            continue
        confidence: Confidence = "certain" if sure else "likely"
        writer.say("clipping.kind", "global_norm", place, confidence=confidence)
        writer.say("clipping.unscaled_first", "library", place, confidence=confidence)
        writer.say("clipping.per", "step", place, confidence=confidence)
        if node is not None:
            writer.number("clipping.value", call.argument("max_grad_norm"), place)
        elif limit is None:
            writer.unknown("clipping.value", "it may be among **arguments", place)
        else:
            writer.say("clipping.value", limit, place, origin="library_default")


def clipped_again(facts: Sequence[Fact], program: Program) -> list[Fact]:
    """Return the facts known of the clips of a loop whose optimizer may clip again.

    The smaller of two bounds on the same norm counts.
    """
    said = {fact.field: fact for fact in facts}
    if "clipping.kind" not in said:
        return list(facts)
    limits = [_limit(call) for call in _calls(program)]
    if not limits:
        return list(facts)
    norm = said["clipping.kind"].value == "global_norm"
    if norm and _is_least(said.get("clipping.value"), limits):
        return list(facts)
    open_ = ("clipping.value",) if norm else ("clipping.kind", "clipping.value")
    return [_opened(fact) if fact.field in open_ else fact for fact in facts]


def _is_least(own: Fact | None, limits: Sequence[float | None]) -> bool:
    if own is None or not own.known or not is_number(own.value):
        return False
    number = float(own.value)
    return all(limit is not None and number <= limit for limit in limits)


def _opened(fact: Fact) -> Fact:
    return replace(fact, known=False, value=None, reason=_AGAIN, confidence="likely")


def _calls(program: Program) -> list[Call]:
    calls = calls_matching(program, _LAMB)
    return [call for call in calls if runs_by_default(call.node, call.module) is not False]


def _limit(call: Call) -> float | None:
    """Return the bound of a call; None if it is not known."""
    if "max_grad_norm" not in call.bound():
        return None if call.has_star else _DEFAULT
    value = call.argument("max_grad_norm")
    number = isinstance(value, Known) and not value.flag and is_number(value.value)
    return float(value.value) if number else None  # type: ignore[union-attr,arg-type]
