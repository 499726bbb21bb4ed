"""What the loops of a training step are for, and the conditions around all of it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from crosscast_reading.trainstep.events import Event, Guard, Loop, LoopRole


def micro_loops(events: Sequence[Event], loop: Loop | None) -> dict[int, Loop]:
    """Return the loops over the micro-batches of a window, within the loop over windows."""
    stepped = {id(loop) for e in events if e.kind == "step" and not e.window for loop in e.loops}
    running = {id(loop) for e in events if e.kind == "forward" for loop in e.loops}
    clearing = {id(loop) for e in events if _clears_most(e) for loop in e.loops[-1:]}
    micro: dict[int, Loop] = {}
    last = max((e.order for e in events if e.kind == "step"), default=-1)
    for event in events:
        if event.kind != "backward" or event.order > last:
            continue
        below = loop is None
        for around in event.loops:
            if id(around) in clearing:  # an attack on the inputs: its last pass alone counts
                continue
            if below and id(around) not in stepped and _is_micro(around, id(around) in running):
                micro[id(around)] = around
            below = below or around is loop
    return micro


def _clears_most(event: Event) -> bool:
    """Whether gradients are cleared in every round but one: `if i != rounds - 1: zero_grad()`."""
    if event.kind != "zero_grad" or not event.loops:
        return False
    counter = event.loops[-1].counter
    for guard in event.guards:
        node = guard.node
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            continue
        named = isinstance(node.left, ast.Name) and node.left.id == counter != ""
        if named and isinstance(node.ops[0], ast.NotEq) is guard.holds:
            return True
    return False


def _is_micro(loop: Loop, runs_model: bool) -> bool:
    if _is_tower(loop):
        return False
    return runs_model or any(w in loop.over for w in ("range", "chunk", "split", "micro", "accum"))


def _is_tower(loop: Loop) -> bool:
    """Whether every round builds the graph of another device: `with tf.device(devices[i])`."""
    heads = (
        item.context_expr
        for node in ast.walk(loop.node)
        if isinstance(node, ast.With)
        for item in node.items
    )
    return any(
        isinstance(head, ast.Call)
        and isinstance(head.func, ast.Attribute)
        and head.func.attr == "device"
        and bool(head.args)
        and not isinstance(head.args[0], ast.Constant)
        for head in heads
    )


def roles(events: Sequence[Event], loop: Loop | None, micro: dict[int, Loop]) -> dict[int, Loop]:
    """Return every loop under the role it turned out to have."""
    loops: dict[int, Loop] = {}
    inside = [e for e in events if any(around is loop for around in e.loops)]
    for event in (*inside, *events):
        seen = False
        for place, around in enumerate(event.loops):
            if id(around) in loops:
                seen = seen or around is loop
                continue
            role: LoopRole = "other"
            if around is loop:
                role, seen = "batch", True
            elif id(around) in micro:
                role = "micro"
            elif not seen and loop is not None:
                direct = place + 1 < len(event.loops) and event.loops[place + 1] is loop
                role = "epoch" if direct or around.role == "epoch" else "other"
            loops[id(around)] = replace(around, role=role) if around.role != role else around
    return loops


def with_roles(event: Event, named: dict[int, Loop]) -> Event:
    """Return an event with its loops under their roles."""
    loops = tuple(named.get(id(loop), loop) for loop in event.loops)
    if all(a is b for a, b in zip(loops, event.loops, strict=True)):
        return event
    return replace(event, loops=loops)


def common_guards(events: Sequence[Event], loop: Loop | None) -> tuple[Guard, ...]:
    """Return the conditions that the whole loop stands under."""
    inside = [e for e in events if loop is None or any(around is loop for around in e.loops)]
    if not inside:
        return ()
    common = inside[0].guards
    for event in inside[1:]:
        length = 0
        for mine, other in zip(common, event.guards, strict=False):
            if mine.node is not other.node or mine.holds != other.holds:
                break
            length += 1
        common = common[:length]
    if loop is None:
        return common
    place = loop.node.lineno
    return tuple(g for g in common if not _within(g, loop, place))


def _within(guard: Guard, loop: Loop, line: int) -> bool:
    last = loop.node.end_lineno or line
    return line < guard.node.lineno <= last


def without(events: Sequence[Event], common: tuple[Guard, ...]) -> list[Event]:
    """Return the events without the conditions that all of them share."""
    if not common:
        return list(events)
    nodes = {id(g.node) for g in common}
    return [
        replace(e, guards=tuple(g for g in e.guards if id(g.node) not in nodes)) if e.guards else e
        for e in events
    ]
