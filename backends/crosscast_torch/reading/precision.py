"""Places of a PyTorch program that run in half precision, and their combined facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.readers.python.decisions import Decision
from crosscast_reading.readers.python.fact_writer import FactWriter

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span

_ORDER = ("flag", "config", "caller", "always")


@dataclass(frozen=True, slots=True)
class Use:
    """One place that makes something run in half precision."""

    place: Span
    decision: Decision
    types: tuple[str, ...]
    """Types below float32 that it can select."""
    default: str
    """The default type; empty if unknown."""
    trains: bool = True
    """Whether the enclosing function computes gradients."""
    also: tuple[Span, ...] = ()
    """More places that show it."""


def tell_uses(writer: FactWriter, uses: Sequence[Use], mode: str = "mixed") -> bool:
    """Record the combined facts of uses of half precision; return False if there are none."""
    live = [use for use in uses if use.decision.who != "never" and set(use.types) - {"float32"}]
    if not live:
        return False
    live = [use for use in live if use.trains] or live
    chosen = min(live, key=lambda use: _ORDER.index(use.decision.who))
    if any(use.decision.who == "always" for use in live) and chosen.decision.who == "caller":
        chosen = next(use for use in live if use.decision.who == "always")
    decision = chosen.decision
    places = tuple(
        dict.fromkeys((chosen.place, *(p for use in live for p in (use.place, *use.also))))
    )
    writer.say(
        "precision.enabled",
        decision.who,
        *places,
        origin="flag" if decision.who == "flag" else "presence",
        expression=decision.flag,
        confidence="likely" if decision.who == "caller" else "certain",
    )
    types = dict.fromkeys(dtype for use in live for dtype in use.types if dtype != "float32")
    writer.say("precision.dtypes", tuple(types), *places)
    if decision.flag:
        writer.say("precision.flag", decision.flag, chosen.place, origin="flag")
    writer.say("precision.mode", mode, chosen.place)
    _default(writer, chosen)
    return True


def _default(writer: FactWriter, use: Use) -> None:
    decision = use.decision
    if decision.by_default is False:
        word = "float32"
    elif decision.by_default and use.default:
        word = use.default
    else:
        reason = "the caller decides" if decision.who == "caller" else "the switch is unknown"
        if decision.by_default:
            reason = "the type is unknown"
        writer.unknown("precision.compute_dtype", reason, use.place, expression=decision.flag)
        return
    writer.say(
        "precision.compute_dtype",
        word,
        use.place,
        origin="flag" if decision.who == "flag" else "presence",
        expression=decision.flag,
    )
