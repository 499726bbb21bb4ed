"""Warm-ups that a loop writes into the groups of its optimizer, beside a schedule object."""

from __future__ import annotations

import ast

from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.trainstep.events import Event, Guard, TrainingStep


def warms_by_hand(step: TrainingStep) -> list[Event]:
    """Return the rates that grow with a counter and are set while it is below a limit.

    `if ni <= nw: group["lr"] = numpy.interp(ni, [0, nw], [0.0, base])`
    """
    return [event for event in step.inside("schedule") if _warms(event)]


def without_warmups(step: TrainingStep, events: tuple[Event, ...]) -> tuple[Event, ...]:
    """Return the events of a schedule: warm-ups by hand count only where there is nothing else."""
    warms = warms_by_hand(step)
    others = [event for event in step.of("schedule") if event not in warms]
    return tuple(event for event in events if event not in warms) if others else events


def _warms(event: Event) -> bool:
    match event.node:
        case ast.Assign(value=rate):
            return any(_grows(rate, guard) for guard in event.guards)
    return False


def _grows(rate: ast.expr, guard: Guard) -> bool:
    """Whether a rate depends on the counter of a condition as a warm-up does."""
    match guard.node:
        case ast.Compare(
            left=ast.Name(id=counter), ops=[ast.Lt() | ast.LtE()], comparators=[limit]
        ) if guard.holds:
            pass
        case _:
            return False
    match rate:
        case ast.Call(args=[ast.Name(id=first), _, _]) if identifier(rate.func) == "interp":
            return first == counter
    names = {node.id for node in walk(rate) if isinstance(node, ast.Name)}
    return counter in names and "warm" in identifier(limit).lower()
