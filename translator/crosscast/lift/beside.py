"""The training step of a program set beside the neutral Plan of its recipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast.pysource.values import Known, Symbol, Unknown, Value

if TYPE_CHECKING:
    from crosscast.plan import Plan
    from crosscast.trainstep.events import Event, TrainingStep

COLUMNS = ("part", "the plan", "the program", "at", "how")
_OPS = {
    "autocast": (),
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
_SHOWN = frozenset(kind for kinds in _OPS.values() for kind in kinds) | {"forward"}
_TOLD = ("by_text", "kind", "max_text")
"""Details of events that say something to a reader."""
Row = tuple[str, str, str, str, str]


def beside(step: TrainingStep, plan: Plan) -> Iterator[Row]:
    """Yield a row for every operation of the plan and every event of the step.

    Rows follow the program; an operation that no event does stands where the plan has it.
    """
    events = [event for event in step.events if event.kind in _SHOWN]
    left = list(events)
    for part, ops in (("micro", plan.micro), ("window", plan.window)):
        for op in ops:
            kinds = _OPS[op.kind]
            same = [event for event in left if event.kind in kinds]
            if not same:
                how = "-" if kinds else _within(op.kind, events)
                yield (part, op.kind, how, "-", "")
                continue
            for event in same:
                left.remove(event)
                yield (part, op.kind, event.kind, _at(event), _how(event))
    for event in left:
        yield ("", "-", event.kind, _at(event), _how(event))


def _within(kind: str, events: Sequence[Event]) -> str:
    """Return the event of which an operation is a part."""
    match kind:
        case "autocast":
            return "autocast" if any(event.context("autocast") for event in events) else "-"
        case "scale":
            scaled = any(e.scaler or e.context("scale_loss") for e in events)
            return "scaled backward" if scaled else "-"
        case "check_finite":
            return "within the step" if any(e.scaler for e in events if e.kind == "step") else "-"
    return "-"


def _at(event: Event) -> str:
    return f"{event.span.file}:{event.span.line}"


def _how(event: Event) -> str:
    parts = [event.subject] if event.subject else []
    parts += [
        f"{name.removesuffix('_text')} {_text(event.detail[name])}"
        for name in _TOLD
        if name in event.detail
    ]
    if event.library:
        parts.append(f"done by {event.library}")
    guards = [g.text if g.holds else f"not ({g.text})" for g in event.guards]
    if guards:
        parts.append("if " + " and ".join(guards))
    return ", ".join(parts)


def _text(value: Value) -> str:
    match value:
        case Known(value=plain):
            return str(plain)
        case Symbol(name=name):
            return name
        case Unknown(text=text):
            return text
    return "..."
