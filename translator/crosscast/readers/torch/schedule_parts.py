"""Parts of a schedule from several places of a program, and their combination."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.facts.fact import Confidence, Fact

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast.readers.python.fact_writer import FactWriter

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
    start: str = ""
    """Expression for the first rate of the warm-up above 0; empty if it is 0 or unknown."""
    total: Fact | None = None
    by_default: bool | None = None
    """Whether it runs with the defaults of flags."""
    flag: str = ""
    confidence: Confidence = "certain"
    rising: bool = False
    """Whether it only raises the rate."""
    chained: bool = False
    details: tuple[Fact, ...] = ()
    """Facts about where it ends, for a schedule whose formula is known."""


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
    for part in live:
        if part.warmup is not None:
            writer.facts.append(part.warmup)
        if part.warms:
            writer.say("schedule.has_warmup", "yes", *part.places)
        if part.warms and part.start:
            writer.say("schedule.warmup_start", "above_zero", *part.places, expression=part.start)
        if part.total is not None:
            writer.facts.append(part.total)
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
