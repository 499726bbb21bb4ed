"""Places of a PyTorch program that run in half precision, and the facts that they make together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.readers.python.decisions import Decision
from crosscast.readers.torch.fact_writer import Told

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
    """The type it is by default, if it runs; empty: not known."""
    trains: bool = True
    """Whether the function that it stands in computes gradients."""
    also: tuple[Span, ...] = ()
    """More places that tell it."""


def tell_uses(told: Told, uses: Sequence[Use], mode: str = "mixed") -> bool:
    """Say what the uses of half precision mean together; False if there is none."""
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
    told.say(
        "precision.enabled",
        decision.who,
        *places,
        origin="flag" if decision.who == "flag" else "presence",
        expression=decision.flag,
        confidence="likely" if decision.who == "caller" else "certain",
    )
    types = dict.fromkeys(one for use in live for one in use.types if one != "float32")
    told.say("precision.dtypes", tuple(types), *places)
    if decision.flag:
        told.say("precision.flag", decision.flag, chosen.place, origin="flag")
    told.say("precision.mode", mode, chosen.place)
    _default(told, chosen)
    return True


def _default(told: Told, use: Use) -> None:
    decision = use.decision
    if decision.usual is False:
        word = "float32"
    elif decision.usual and use.default:
        word = use.default
    else:
        reason = "who calls it decides" if decision.who == "caller" else "the switch is not known"
        if decision.usual:
            reason = "the type is not known"
        told.unknown("precision.compute_dtype", reason, use.place, expression=decision.flag)
        return
    told.say(
        "precision.compute_dtype",
        word,
        use.place,
        origin="flag" if decision.who == "flag" else "presence",
        expression=decision.flag,
    )
