"""The order rules of a Plan, as a table, and the check of a Plan against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from crosscast.messages.diagnostics import Diagnostic
from crosscast.plan.operations import (
    Accumulate,
    AllReduce,
    Autocast,
    Backward,
    CheckFinite,
    Clip,
    Ema,
    Normalize,
    Op,
    Plan,
    Scale,
    Schedule,
    Step,
    Unscale,
    UpdateScale,
    Zero,
)

Part = Literal["micro", "window"]


@dataclass(frozen=True, slots=True)
class Before:
    """If both operations occur, `first` comes before `then`."""

    first: type[Op]
    then: type[Op]
    reason: str


@dataclass(frozen=True, slots=True)
class Needs:
    """If `op` occurs, `needed` occurs too; for `Op`, in every Plan."""

    op: type[Op]
    needed: type[Op]
    reason: str


@dataclass(frozen=True, slots=True)
class Belongs:
    """`op` occurs at most once, and only in `part`."""

    op: type[Op]
    part: Part
    reason: str


PARTS: tuple[Belongs, ...] = (
    Belongs(Autocast, "micro", "every micro-batch has its own forward pass"),
    Belongs(Normalize, "micro", "each loss is divided before its own backward pass"),
    Belongs(Scale, "micro", "each loss is scaled before its own backward pass"),
    Belongs(Backward, "micro", "every micro-batch has its own backward pass"),
    Belongs(Accumulate, "micro", "the window's gradients are a sum over its micro-batches"),
    Belongs(AllReduce, "window", "gradients are exchanged once, when the window's sum is complete"),
    Belongs(Unscale, "window", "the sum is divided by the scale once"),
    Belongs(CheckFinite, "window", "one overflow skips the whole window"),
    Belongs(Clip, "window", "the norm is that of the window's gradients"),
    Belongs(Step, "window", "there is one update per window"),
    Belongs(Ema, "window", "the average follows the weights once per update"),
    Belongs(Schedule, "window", "the schedule counts windows, not micro-batches"),
    Belongs(UpdateScale, "window", "the scale is constant within a window"),
    Belongs(Zero, "window", "clearing within a window would lose micro-batches"),
)

NEEDS: tuple[Needs, ...] = (
    Needs(Op, Autocast, "without a forward pass there is no loss"),
    Needs(Op, Normalize, "a sum of undivided losses grows with the number of micro-batches"),
    Needs(Op, Backward, "without a backward pass there are no gradients"),
    Needs(Op, Accumulate, "only the last micro-batch would count"),
    Needs(Op, Clip, "its norm is part of the trace, even if nothing is clipped"),
    Needs(Op, Step, "nothing would be trained"),
    Needs(Op, Schedule, "it provides the learning rate of the step"),
    Needs(Op, Zero, "the next window would start with the gradients of this one"),
    Needs(Scale, Unscale, "the step would see gradients multiplied by the scale"),
    Needs(Scale, CheckFinite, "a scaled loss can overflow and the step would apply it"),
    Needs(Scale, UpdateScale, "it maintains the value of the scale"),
    Needs(Unscale, Scale, "gradients would be divided by a scale that was never applied"),
    Needs(UpdateScale, Scale, "a scale without effect has no meaning"),
)

ORDER: tuple[Before, ...] = (
    Before(Autocast, Normalize, "the loss must exist before it is divided"),
    Before(Autocast, Scale, "the loss must exist before it is scaled"),
    Before(Autocast, Backward, "the loss must exist before its gradients"),
    Before(Normalize, Scale, "an undivided loss overflows earlier when it is scaled"),
    Before(Normalize, Backward, "dividing the loss after its gradients exist changes nothing"),
    Before(Scale, Backward, "scaling the loss after its gradients exist changes nothing"),
    Before(Backward, Accumulate, "gradients must exist before they are added"),
    Before(AllReduce, Unscale, "unscaling is for the gradients that all processes share"),
    Before(AllReduce, CheckFinite, "an overflow on one process must stop all of them"),
    Before(AllReduce, Clip, "each process would clip by its own norm"),
    Before(AllReduce, Step, "each process would step on its own gradients"),
    Before(Unscale, CheckFinite, "unscaling may itself produce inf or nan"),
    Before(Unscale, Clip, "clipping scaled gradients hides overflow and shrinks the update"),
    Before(Unscale, Step, "the step would see gradients multiplied by the scale"),
    Before(Unscale, UpdateScale, "gradients are divided by the scale they were made with"),
    Before(CheckFinite, Clip, "clipping turns infinite gradients into finite or nan ones"),
    Before(CheckFinite, Step, "the step must know whether it is skipped"),
    Before(CheckFinite, Schedule, "the schedule must know whether the attempt was skipped"),
    Before(CheckFinite, UpdateScale, "the scale must know whether the attempt was skipped"),
    Before(Clip, Step, "clipping after the step changes nothing"),
    Before(Step, Schedule, "the rate of this window is the one before the advance"),
    Before(Step, UpdateScale, "the scale of the next window is set at the end of this one"),
    Before(CheckFinite, Ema, "the average must know whether the attempt was skipped"),
    Before(Step, Ema, "the average includes the weights of this update"),
    Before(Ema, Zero, "clearing the gradients ends the window"),
    Before(Clip, Zero, "gradients are still needed for their norm"),
    Before(Step, Zero, "gradients are still needed for the step"),
    Before(Schedule, Zero, "clearing the gradients ends the window"),
    Before(UpdateScale, Zero, "clearing the gradients ends the window"),
)


def verify(plan: Plan) -> list[Diagnostic]:
    """Return one diagnostic per violated rule, in the order of the tables; empty if none is.

    The number of processes is not part of the rules: a missing `AllReduce` is not found here.
    """
    places = _places(plan)
    return [*_foreign(places), *_misplaced(places), *_missing(places), *_out_of_order(places)]


Places = Mapping[type[Op], list[tuple[Part, int]]]


def _places(plan: Plan) -> Places:
    """Map each type of operation to its positions, numbered across both parts."""
    places: dict[type[Op], list[tuple[Part, int]]] = {}
    for number, op in enumerate(plan):
        part: Part = "micro" if number < len(plan.micro) else "window"
        places.setdefault(type(op), []).append((part, number))
    return places


def _foreign(places: Places) -> Iterator[Diagnostic]:
    known = {rule.op for rule in PARTS}
    for op in places:
        if op not in known:
            message = f"no rule knows the operation {op.kind or op.__name__!r}"
            yield Diagnostic(code="CC805", message=message)


def _misplaced(places: Places) -> Iterator[Diagnostic]:
    for rule in PARTS:
        occurrences = places.get(rule.op, [])
        if any(part != rule.part for part, _ in occurrences):
            message = f"{rule.op.kind} belongs to the {rule.part} part: {rule.reason}"
            yield Diagnostic(code="CC803", message=message)
        if len(occurrences) > 1:
            message = f"{rule.op.kind} occurs {len(occurrences)} times: {rule.reason}"
            yield Diagnostic(code="CC804", message=message)


def _missing(places: Places) -> Iterator[Diagnostic]:
    for rule in NEEDS:
        if (rule.op is Op or rule.op in places) and rule.needed not in places:
            by = "" if rule.op is Op else f" and {rule.op.kind} needs it"
            message = f"{rule.needed.kind} is missing{by}: {rule.reason}"
            yield Diagnostic(code="CC802", message=message)


def _out_of_order(places: Places) -> Iterator[Diagnostic]:
    for rule in ORDER:
        if rule.first not in places or rule.then not in places:
            continue
        if places[rule.first][-1][1] > places[rule.then][0][1]:
            message = f"{rule.first.kind} must come before {rule.then.kind}: {rule.reason}"
            yield Diagnostic(code="CC801", message=message)
