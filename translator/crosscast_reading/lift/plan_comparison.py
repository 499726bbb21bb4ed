"""The training step of a program set beside the neutral Plan of its recipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from crosscast.plan.operations import Autocast, Clip
from crosscast_reading.pysource.values.value import Known, Symbol, Unknown, Value

if TYPE_CHECKING:
    from crosscast.plan.operations import Op, Plan
    from crosscast_reading.lift.recipe_draft import Filled
    from crosscast_reading.trainstep.events import Event, TrainingStep

COLUMNS = ("part", "the plan", "the program", "at", "how")
_OPS = {
    "autocast": ("forward",),
    "normalize": ("divide_loss",),
    "scale": (),
    "backward": ("backward",),
    "accumulate": ("accumulate",),
    "all_reduce": ("all_reduce",),
    "unscale": ("unscale",),
    "check_finite": (),
    "clip": ("clip",),
    "step": ("step",),
    "ema": ("average_weights",),
    "schedule": ("schedule",),
    "update_scale": ("update_scale",),
    "zero": ("zero_grad",),
}
"""Operations of a plan and the events that do the same."""
FIELDS_OF_OPERATIONS = {
    "autocast": "precision.compute_dtype",
    "scale": "loss_scaling.mode",
    "accumulate": "accumulation.steps",
    "all_reduce": "distributed.processes_per_node",
    "unscale": "loss_scaling.mode",
    "check_finite": "loss_scaling.mode",
    "clip": "clipping.kind",
    "step": "optimizer.name",
    "ema": "ema.decay",
    "schedule": "schedule.name",
    "update_scale": "loss_scaling.mode",
    "normalize": "accumulation.normalize_by",
    "backward": "accumulation.steps",
    "zero": "optimizer.name",
}
"""Operations of a plan and the field of the recipe whose place tells where they are made."""
OWN = "by its own code"
_NO_SUMS = frozenset({"tensorflow", "jax", "paddle_static"})
"""Libraries that give gradients as values: there is nothing to clear unless a program adds up."""
_SHOWN = frozenset(kind for kinds in _OPS.values() for kind in kinds)
_TOLD = ("by_text", "kind", "max_text")
"""Details of events that say something to a reader."""
ComparedRow = tuple[str, str, str, str, str]


def beside(
    step: TrainingStep, plan: Plan, fields: Mapping[str, Filled] | None = None
) -> Iterator[ComparedRow]:
    """Yield a row for every operation of the plan and every event of the step.

    Rows follow the program; an operation that no event does stands where the plan has it.

    Args:
        step: what the program does.
        plan: of its recipe.
        fields: how the recipe came by its fields; they tell where what is no event is made.
    """
    events = [event for event in step.events if event.kind in _SHOWN]
    left = list(events)
    for part, ops in (("micro", plan.micro), ("window", plan.window)):
        for op in ops:
            kinds = _OPS[op.kind]
            same = [event for event in left if event.kind in kinds]
            if not same:
                how, at = _elsewhere(op, events, fields or {})
                yield (part, op.kind, how, at, "")
                continue
            for event in same:
                left.remove(event)
                yield (part, op.kind, _name(op, event), _location(event), _details(event))
    for event in left:
        yield ("", "-", event.kind, _location(event), _details(event))


def operation_places(
    steps: Sequence[TrainingStep], plan: Plan
) -> Iterator[tuple[str, str, str, int]]:
    """Yield operation, event, file and line of the events of training loops.

    The operation is empty for an event that the plan does not have.
    """
    for step in steps:
        for _, operation, event, at, _ in beside(step, plan):
            file, _, line = at.rpartition(":")
            if file and line.isdigit():
                yield operation.strip("-"), event, file, int(line)


def _name(op: Op, event: Event) -> str:
    if op.kind == "autocast" and event.context("autocast"):
        return f"{event.kind} in autocast"
    return event.kind


def _elsewhere(op: Op, events: Sequence[Event], fields: Mapping[str, Filled]) -> tuple[str, str]:
    """Return how an operation without its own event is done, and the location that says so."""
    if (isinstance(op, Autocast) and op.compute_dtype == "float32") or (
        isinstance(op, Clip) and op.mode == "none"
    ):
        return "nothing to do", "-"
    within = _event_around(op.kind, events)
    if within != "-":
        return within, "-"
    filled = fields.get(FIELDS_OF_OPERATIONS[op.kind])
    stated = filled is not None and filled.how in ("read", "derived") and not filled.nothing
    if op.kind == "normalize" and filled is not None and filled.how == "derived":
        stated = False  # a mean over the rows of a batch needs no code of its own
    if op.kind == "zero" and stated:
        # Where the step is in code that was not understood, so is what follows it.
        return ("-" if any(event.kind == "step" for event in events) else OWN), "-"
    if filled is not None and stated and filled.places:
        return OWN, f"{filled.places[0].file}:{filled.places[0].line}"
    return "-", "-"


def _event_around(kind: str, events: Sequence[Event]) -> str:
    """Return the event of which an operation is a part."""
    backward = [event for event in events if event.kind == "backward"]
    values = bool(backward) and all(event.library in _NO_SUMS for event in backward)
    sums = any(event.kind == "accumulate" for event in events)
    match kind:
        case "accumulate":
            return "within the backward" if backward and not values else "-"
        case "zero":
            return "nothing is kept" if values and not sums else "-"
        case "scale":
            scaled = any(e.scaler or e.context("scale_loss") for e in events)
            return "scaled backward" if scaled else "-"
        case "check_finite" | "unscale":
            return "within the step" if any(e.scaler for e in events if e.kind == "step") else "-"
    return "-"


def _location(event: Event) -> str:
    return f"{event.span.file}:{event.span.line}"


def _details(event: Event) -> str:
    parts = [event.subject] if event.subject else []
    parts += [
        f"{name.removesuffix('_text')} {_value_text(event.detail[name])}"
        for name in _TOLD
        if name in event.detail
    ]
    if event.library:
        parts.append(f"done by {event.library}")
    guards = [g.words for g in event.guards]
    if guards:
        parts.append("if " + " and ".join(guards))
    return ", ".join(parts)


def _value_text(value: Value) -> str:
    match value:
        case Known(value=plain):
            return str(plain)
        case Symbol(name=name):
            return name
        case Unknown(text=text):
            return text
    return "..."
