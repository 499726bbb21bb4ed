"""What the formula of a program's rates says of the highest and the last one."""

from __future__ import annotations

from crosscast.lift.recipe_draft import Draft
from crosscast.lift.step_sections import Look, number, word

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
    end, rate = look("schedule.end_factor"), draft.fields.get("optimizer.learning_rate")
    if (share := number(end)) is not None and rate is not None and rate.value is not None:
        how = "read" if share == 0 else "assumed" if rate.how == "assumed" else "derived"
        note = f"{share:.6g} of the highest rate" if share else ""
        draft.put("schedule.end_lr", _rounded(share * rate.value), end, how=how, note=note)
    elif end is not None:
        draft.assume("schedule.end_lr", 0.0, "the last rate is not known", end)
    if (power := number(look("schedule.power"))) is not None:
        draft.put("schedule.power", float(power), look("schedule.power"))
    if (begin := look("schedule.decay_from")) is not None:
        draft.put("schedule.decay_from", word(begin), begin)


def _rounded(rate: float) -> float:
    """Return a rate without the digits that come from dividing and multiplying."""
    return float(f"{rate:.8g}")
