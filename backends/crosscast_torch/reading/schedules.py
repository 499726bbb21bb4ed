"""Reads schedules of the learning rate in PyTorch programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.readers.python.fact_writer import FactWriter, trains
from crosscast_reading.readers.python.schedule_parts import tell_schedule
from crosscast_torch.reading.rate_assignments import assigned_rates, stepped_rates
from crosscast_torch.reading.schedule_calls import scheduled

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.program import Program

NAME = "torch_schedules"


class TorchSchedules:
    """Reads schedules."""

    name = NAME
    hints = ("chedul", "LR", "lr'", 'lr"', "Noam", "arm", "anneal", "earning_rate")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the learning rate schedule of a program."""
        writer = FactWriter(NAME)
        if not trains(program) and not _configures(program):
            return
        parts = list(scheduled(program))
        falls = any(part.decay and part.decay != "constant" for part in parts)
        for part in assigned_rates(program):
            if falls and part.warms:  # the hand-written part only warms up
                part.decay, part.rising = "", True
            parts.append(part)
        if not any(part.decay for part in parts):
            parts += stepped_rates(program)
        tell_schedule(writer, parts)
        if parts:
            _tell_engine(writer, program)
        yield from writer.facts


def _configures(program: Program) -> bool:
    """Whether a file without a training loop configures a run."""
    return any(
        name.rpartition(".")[2] == "configure_optimizers"
        for module in program.modules
        for name in module.functions
    )


def _tell_engine(writer: FactWriter, program: Program) -> None:
    """Record when an event-driven engine advances the rate: `on ITERATION_STARTED, scheduler`."""
    for module in program.modules:
        for call in module.calls:
            if call.method != "add_event_handler":
                continue
            event, *handler = map(module.text, call.node.args[:2] or [call.node])
            if "sched" not in "".join(handler).lower():
                continue
            place = module.span(call.node)
            if "ITERATION" in event:
                writer.say("schedule.stepped_per", "micro", place)
                writer.say("schedule.on_skip", "steps", place)
            elif "EPOCH" in event:
                writer.say("schedule.stepped_per", "epoch", place)


READER = TorchSchedules()
