"""What the formula of a program's rates says of the highest and the last one."""

from __future__ import annotations

from crosscast_reading.facts.fact import Fact
from crosscast_reading.lift.recipe_draft import Draft
from crosscast_reading.lift.step_sections import Look, number, word

_FALLING = ("linear", "cosine", "polynomial")


def computed_rates(look: Look, draft: Draft) -> None:
    """Fill the fields that such a formula decides, after those of the optimizer."""
    peak = look("schedule.peak")
    if (highest := number(peak)) is not None and highest > 0:
        draft.put("optimizer.learning_rate", float(highest), peak)
    elif peak is not None:
        rate = draft.value("optimizer.learning_rate")
        draft.assume("optimizer.learning_rate", rate, f"{peak.expression} is not known", peak)
    if draft.value("schedule.name") not in _FALLING:
        return
    end, rate = (
        _of_schedule("schedule.end_factor", look),
        draft.fields.get("optimizer.learning_rate"),
    )
    if end is not None and end.origin == "library_default" and not number(end):
        draft.put("schedule.end_lr", 0.0, end)
    elif (share := number(end)) is not None and rate is not None and rate.value is not None:
        how = "read" if share == 0 else "assumed" if rate.how == "assumed" else "derived"
        note = f"{share:.6g} of the highest rate" if share else ""
        draft.put("schedule.end_lr", _rounded(share * rate.value), end, how=how, note=note)
    elif end is not None:
        draft.assume("schedule.end_lr", 0.0, "the last rate is not known", end)
    if (power := number(look("schedule.power"))) is not None:
        draft.put("schedule.power", float(power), look("schedule.power"))
    if (begin := _of_schedule("schedule.decay_from", look)) is not None:
        draft.put("schedule.decay_from", word(begin), begin)


def _of_schedule(field: str, look: Look) -> Fact | None:
    """Return a fact about the schedule; a default only where the same source names the schedule."""
    fact, name = look(field), look("schedule.name")
    if fact is not None and fact.origin == "library_default":
        return fact if name is not None and name.reader == fact.reader else None
    return fact


def _rounded(rate: float) -> float:
    """Return a rate without the digits that come from dividing and multiplying."""
    return float(f"{rate:.8g}")
