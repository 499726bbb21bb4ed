"""Parts of a schedule from several places of a program, and their combination."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Confidence, Fact

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.readers.python.fact_writer import FactWriter
    from crosscast_reading.readers.python.rate_curves import RateCurve

_UNSEEN = ("constant", "elsewhere", "caller")
_TELLING = (
    *("cosine", "noam", "inverse_sqrt", "polynomial", "exponential", "linear", "step"),
    "step_custom",
)


@dataclass(slots=True)
class SchedulePart:
    """A schedule, or a part of one."""

    decay: str
    """A word of the vocabulary; empty: the rate does not fall."""
    places: tuple[Span, ...]
    warms: bool = False
    warmup: Fact | None = None
    start: Fact | None = None
    """Where the warm-up begins, unless it is 0."""
    total: Fact | None = None
    by_default: bool | None = None
    """Whether it runs with the defaults of flags."""
    flag: str = ""
    confidence: Confidence = "certain"
    rising: bool = False
    """Whether it only raises the rate."""
    chained: bool = False
    begins: int | None = None
    """Of a sequence: the step at which its last schedule begins; 0 if it is not known."""
    last: tuple[Span, ...] = ()
    """Of a sequence: where its last schedule is made."""
    form: str = ""
    """How its warm-up differs from that of a recipe: a word of the vocabulary."""
    details: tuple[Fact, ...] = ()
    """Facts about where it ends, for a schedule whose formula is known, or a warm-up to another
    rate than that of the optimizer."""
    curve: RateCurve | None = None
    """What its formula gives, if it could be computed."""


SPELLED = "by the spelling of its formula"
"""Why the decay of a formula is a guess."""


def branches_together(parts: list[SchedulePart]) -> SchedulePart:
    """Return the combination of the branches of a rule; the most specific decay counts."""
    decays = [part.decay for part in parts]
    if len(set(decays)) > 1:  # a visible schedule is more specific than one of another file
        decays = [word for word in decays if word != "elsewhere"]
    best = next((word for word in _TELLING if word in decays), decays[0])
    together = next(part for part in parts if part.decay == best)
    together.places = tuple(place for part in parts for place in part.places)
    together.warms = any(part.warms for part in parts)
    return together


def tell_schedule(writer: FactWriter, parts: Iterable[SchedulePart]) -> None:
    """Record the combined facts of the parts of a schedule."""
    parts = list(parts)
    live = [part for part in parts if part.by_default is not False] or parts
    _place_fall(live, writer.reader)
    for part in live:
        if part.warmup is not None:
            writer.facts.append(replace(part.warmup, reader=writer.reader))
        if part.warms:
            writer.say("schedule.has_warmup", "yes", *part.places)
        if part.warms and part.start is not None:
            writer.facts.append(replace(part.start, reader=writer.reader))
        if part.total is not None:
            writer.facts.append(replace(part.total, reader=writer.reader))
        if part.curve is not None:
            _tell_curve(writer, part, part.curve)
        if part.rising:
            writer.facts += part.details
        if part.form:
            writer.say("schedule.warmup_form", part.form, *part.places, origin="derived")
    falling = [part for part in live if part.decay]
    seen = [part for part in falling if part.decay not in _UNSEEN]
    certain = [part for part in seen if part.by_default]
    if len({part.decay for part in certain}) == 1:
        seen = certain
    chosen = seen or falling
    if chosen:
        _tell_decay(writer, chosen)
    if len(chosen) == 1:
        writer.facts += chosen[0].details


def _place_fall(parts: list[SchedulePart], reader: str) -> None:
    """Say where the fall of a sequence or a chain begins: in a sequence, it counts from there."""
    joints = [part for part in parts if part.chained]
    falls = [part for part in parts if part.decay and part.decay != "constant"]
    if len(joints) != 1 or len(falls) != 1:
        return
    (joint,), (fall,) = joints, falls
    ends = [part.warmup for part in parts if part.rising and part.warmup is not None]
    if joint.begins is None:
        if ends:
            joint.form = "product"
            fall.details = (*fall.details, _decay_from("start", joint, reader))
        return
    if not set(fall.places) & set(joint.last):
        return
    match fall.total:
        case Fact(known=True, value=int(length), places=places) as total if joint.begins:
            whole, where = length + joint.begins, (*places, *joint.places)
            fall.total = replace(total, value=whole, places=where, origin="derived")
        case Fact(known=True) as total:
            why = "it counts from a step that is not known"
            shown = f"{total.expression or total.value} steps after a warm-up"
            fall.total = replace(total, value=None, known=False, expression=shown, reason=why)
    if [end.value for end in ends] == [joint.begins]:
        fall.details = (*fall.details, _decay_from("warmup_end", joint, reader))
    elif joint.begins and all(end.known for end in ends):
        joint.form = "apart"


def _decay_from(begin: str, joint: SchedulePart, reader: str) -> Fact:
    return Fact(
        field="recipe.schedule.decay_from",
        value=begin,
        places=joint.places,
        origin="presence",
        reader=reader,
    )


def part_of_curve(
    curve: RateCurve, spelled: str, places: tuple[Span, ...], by_default: bool | None = None
) -> SchedulePart:
    """Return the schedule of a computed formula.

    Args:
        curve: of the formula.
        spelled: its decay by its spelling, which tells shapes apart that no recipe has.
        places: of the formula.
        by_default: see `SchedulePart`.
    """
    name = "custom" if curve.hold else curve.name
    other = spelled not in ("constant", "linear", "cosine", "polynomial", "inverse_sqrt", "")
    if (curve.name == "custom" and other) or (name == "inverse_sqrt" and spelled == "noam"):
        name = spelled
    part = SchedulePart(name, places, curve.warms, by_default=by_default, curve=curve)
    if curve.warms and curve.warmup is not None:
        part.warmup = _length("schedule.warmup", curve.warmup, places)
    if curve.warms and not curve.ahead and (curve.start is None or curve.start > 0):
        part.start = first_rate(curve.start, places)
    if curve.total is not None:
        part.total = _length("schedule.total_steps", curve.total, places)
    return part


def first_rate(share: float | None, places: tuple[Span, ...], expression: str = "") -> Fact:
    """Return the fact of the first rate of a warm-up; None for one that is not known."""
    fact = Fact(
        field="schedule.warmup_start_factor",
        value=share,
        places=places,
        origin="derived",
        reader="",
    )
    if share is not None:
        return fact
    reason = "it depends on what is not known here"
    return replace(fact, known=False, expression=expression or "the first rate", reason=reason)


def _length(field: str, length: int | str, places: tuple[Span, ...]) -> Fact:
    """Return the fact of a length in steps; one in epochs is not known in steps."""
    fact = Fact(field=field, places=places, origin="derived", reader="")
    if isinstance(length, int):
        return replace(fact, value=length)
    if field == "schedule.warmup":
        return replace(fact, value=length)
    return replace(fact, known=False, expression=length, reason="it counts epochs")


def _tell_curve(writer: FactWriter, part: SchedulePart, curve: RateCurve) -> None:
    """Record what else a computed formula gives."""
    places = part.places
    if curve.relative and curve.peak != 1:
        text = "" if curve.peak is None else f" {curve.peak:.6g}"
        expression = f"the rate of the optimizer times the highest factor{text}"
        writer.unknown("schedule.peak", "a factor", *places, expression=expression)
    elif not curve.relative and curve.peak is not None:
        writer.say("schedule.peak", curve.peak, *places, origin="derived")
    elif not curve.relative:
        reason = "it depends on what is not known here"
        writer.unknown("schedule.peak", reason, *places, expression="the highest rate")
    if curve.late or curve.ahead:
        how = "ahead" if curve.ahead else "early"
        writer.say("schedule.warmup_form", how, *places, origin="derived")
    if part.decay not in ("linear", "cosine", "polynomial"):
        return
    if curve.end is not None:
        writer.say("schedule.end_factor", curve.end, *places, origin="derived")
    else:
        reason = "it depends on what is not known here"
        writer.unknown("schedule.end_factor", reason, *places, expression="the last rate")
    match part.decay, curve.power:
        case "polynomial", float() as power:
            writer.say("schedule.power", power, *places, origin="derived")
    if curve.warms:
        writer.say("schedule.decay_from", curve.decay_from, *places, origin="derived")


def _tell_decay(writer: FactWriter, parts: list[SchedulePart]) -> None:
    first = parts[0]
    if len({part.decay for part in parts}) > 1:
        if not any(part.rising or part.chained for part in parts):  # one of them runs, not all
            places = (place for part in parts for place in part.places)
            writer.say("schedule.name", "selectable", *places)
            return
        first = next((part for part in parts if not part.rising), first)
    writer.say(
        "schedule.name",
        first.decay,
        *(place for part in parts if part.decay == first.decay for place in part.places),
        origin="flag" if first.flag else "presence",
        expression=first.flag,
        confidence=first.confidence,
        reason=SPELLED if first.confidence == "guess" else "",
    )
