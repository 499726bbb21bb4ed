"""Reads schedules of the learning rate in PyTorch programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.facts.fact import Fact
from crosscast.readers.torch.fact_writer import Told, trains
from crosscast.readers.torch.schedule_calls import in_library, scheduled
from crosscast.readers.torch.schedule_functions import Candidate
from crosscast.readers.torch.schedule_hand import by_hand
from crosscast.readers.torch.schedule_outside import moved_on

if TYPE_CHECKING:
    from crosscast.pysource.programs.program import Program

NAME = "torch_schedules"


class TorchSchedules:
    """Reads schedules."""

    name = NAME
    hints = ("chedul", "LR", "lr'", 'lr"', "Noam", "arm", "anneal", "earning_rate")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield how the learning rate of a program moves."""
        told = Told(NAME)
        if not trains(program) and not in_library(program):
            return
        found = list(scheduled(program))
        falls = any(one.decay and one.decay != "none" for one in found)
        for one in by_hand(program):
            if falls and one.warms:  # what is written by hand only warms up
                one.decay, one.rising = "", True
            found.append(one)
        if not any(one.decay for one in found):
            found += moved_on(program)
        _tell(told, found)
        if found:
            _by_engine(told, program)
        yield from told.facts


def _by_engine(told: Told, program: Program) -> None:
    """Say when an engine with events moves the rate on: `on ITERATION_STARTED, scheduler`."""
    for module in program.modules:
        for call in module.calls:
            if call.method != "add_event_handler" or len(call.node.args) < 2:
                continue
            event, handler = (module.text(one) for one in call.node.args[:2])
            if "sched" not in handler.lower():
                continue
            place = module.span(call.node)
            if "ITERATION" in event:
                told.say("schedule.stepped_per", "micro", place)
                told.say("schedule.on_skip", "steps", place)
            elif "EPOCH" in event:
                told.say("schedule.stepped_per", "epoch", place)


def _tell(told: Told, found: list[Candidate]) -> None:
    live = [one for one in found if one.usual is not False] or found
    for one in live:
        if one.warmup is not None:
            told.facts.append(one.warmup)
        if one.warms:
            told.say("schedule.has_warmup", "yes", *one.places)
        if one.warms and one.start:
            told.say("schedule.warmup_start", "above_zero", *one.places, expression=one.start)
        if one.total is not None:
            told.facts.append(one.total)
    falling = [one for one in live if one.decay]
    if not falling:
        return
    concrete = [one for one in falling if one.decay not in ("none", "elsewhere", "caller")]
    certain = [one for one in concrete if one.usual]
    if certain and len({one.decay for one in certain}) == 1:
        concrete = certain
    chosen = concrete or falling
    words = list(dict.fromkeys(one.decay for one in chosen))
    first = chosen[0]
    if len(words) > 1 and not _one_after_other(chosen):
        places = [place for one in chosen for place in one.places]
        told.say("schedule.decay", "selectable", *places)
        return
    if len(words) > 1:
        first = next((one for one in chosen if not one.rising), first)
    told.say(
        "schedule.decay",
        first.decay,
        *(place for one in chosen if one.decay == first.decay for place in one.places),
        origin="flag" if first.flag else "presence",
        expression=first.flag,
        confidence=first.confidence,
    )


def _one_after_other(found: list[Candidate]) -> bool:
    """Whether several schedules belong to one: parts of a chain, or of a warm-up and its fall."""
    return any(one.rising or one.chained for one in found)


READER = TorchSchedules()
