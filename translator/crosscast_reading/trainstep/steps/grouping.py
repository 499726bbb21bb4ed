"""Cut the events of a walk into training steps, one a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.values.value import Unknown, Value
from crosscast_reading.trainstep.events import Event, EventKind, Loop, TrainingStep, Unfollowed
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.library_settings import library_steps
from crosscast_reading.trainstep.steps.roles import (
    common_guards,
    micro_loops,
    roles,
    with_roles,
    without,
)
from crosscast_reading.trainstep.walk.walker import Walker
from crosscast_reading.trainstep.windows.returned_windows import with_returned_windows
from crosscast_reading.trainstep.windows.validity import with_windows

_AROUND: frozenset[EventKind] = frozenset(
    {
        *("zero_grad", "schedule", "set_epoch", "step", "update_scale", "clip", "unscale"),
        *("average_weights", "make", "count", "all_reduce", "sum_loss"),
    }
)  # fmt: skip
"""What is worth knowing from outside the loop."""


_ANYWHERE: frozenset[EventKind] = frozenset({"zero_grad", "set_epoch", "count", "make"})
"""Of these also what is outside the loop over epochs."""


def steps_of(walker: Walker, module: Module, function: str) -> list[TrainingStep]:
    """Return the training steps among the events of one walk."""
    events = walker.events
    loops = _update_loops(events, walker.periods)
    steps: list[TrainingStep] = []
    taken: set[int] = set()
    within, beside = _by_loops(events)
    for loop in loops:
        inside = within.get(id(loop), [])
        if loop is not None:
            taken.update(id(e) for e in inside)
            outer = _outer_of(loop, inside[0])
            here = tuple(map(id, outer))
            around = [
                e
                for depth in range(len(here) + 1)
                for e in beside.get(here[:depth], ())
                if depth == len(here) or e.kind in _ANYWHERE
            ]
            together = sorted((*inside, *around), key=lambda e: e.order)
            steps.append(_step(walker, module, function, together, loop))
    rest = _together([e for e in events if id(e) not in taken])
    if any(e.kind == "backward" for e in rest):
        steps.append(_step(walker, module, function, rest, None))
    return steps


def _by_loops(
    events: Sequence[Event],
) -> tuple[dict[int, list[Event]], dict[tuple[int, ...], list[Event]]]:
    """Return the events within each loop, and those of `_AROUND` by exactly the loops around."""
    within: dict[int, list[Event]] = {}
    beside: dict[tuple[int, ...], list[Event]] = {}
    for event in events:
        for loop in dict.fromkeys(map(id, event.loops)):
            within.setdefault(loop, []).append(event)
        if event.kind in _AROUND:
            beside.setdefault(tuple(map(id, event.loops)), []).append(event)
    return within, beside


def _together(events: Sequence[Event]) -> list[Event]:
    """Return the events outside all training loops; those of other loops are left out."""
    live = {id(loop) for e in events if e.kind in _ACTS for loop in e.loops}
    return [e for e in events if all(id(loop) in live for loop in e.loops)]


_ACTS = frozenset({"backward", "step", "zero_grad", "clip", "unscale", "accumulate"})


def _outer_of(loop: Loop, event: Event) -> tuple[Loop, ...]:
    place = next(i for i, around in enumerate(event.loops) if around is loop)
    return event.loops[:place]


def _counted_out(loop: Loop, steps: Sequence[Event], periods: dict[int, str]) -> bool:
    """Whether steps only happen in the last round: `for micro in range(n): if micro == n - 1`."""
    period = periods.get(id(loop))
    if period is None:
        return False
    mine = [e.window for e in steps if any(around is loop for around in e.loops)]
    return all(w is not None and (w.counter, w.key) == (loop.counter, period) for w in mine)


def _update_loops(events: Sequence[Event], periods: dict[int, str]) -> list[Loop]:
    """Return the loops whose rounds hold a backward pass and a step; no loop within another."""
    steps = [e for e in events if e.kind == "step"]
    stepped = {id(loop) for e in steps for loop in e.loops}
    inner = {id(loop) for e in steps for loop in e.loops if _counted_out(loop, steps, periods)}
    chosen: dict[int, Loop] = {}
    paths: dict[int, tuple[Loop, ...]] = {}
    for event in events:
        if event.kind != "backward":
            continue
        for place in range(len(event.loops) - 1, -1, -1):
            loop = event.loops[place]
            if place and id(loop) in inner:
                continue
            if id(loop) in stepped:
                chosen[id(loop)] = loop
                paths[id(loop)] = event.loops[:place]
                break
        else:
            if not steps and event.loops:  # no step: the innermost loop
                loop = event.loops[-1]
                chosen[id(loop)] = loop
                paths[id(loop)] = event.loops[:-1]
    return [
        loop for key, loop in chosen.items() if not any(id(outer) in chosen for outer in paths[key])
    ]


def _step(
    walker: Walker, module: Module, function: str, events: Sequence[Event], loop: Loop | None
) -> TrainingStep:
    common = common_guards(events, loop)
    checked = with_windows(without(_relevant(events), common))
    micro = micro_loops(checked, loop)
    named = roles(checked, loop, micro)
    renamed = with_returned_windows([with_roles(e, named) for e in checked])
    own = named.get(id(loop)) if loop is not None else None
    by_hand, windowed, steps = _window(walker, renamed, micro)
    home = renamed[0].module if renamed else module
    for event in renamed:
        if event.kind == "backward":
            home = event.module
            break
    return TrainingStep(
        module=home if loop is None else _module_of(loop, renamed, home),
        function=function,
        events=tuple(renamed),
        loop=own,
        windowed=windowed,
        steps=steps,
        by_hand=by_hand,
        under=common,
        parts=tuple(walker.parts),
        unfollowed=tuple(_unfollowed(walker, events, loop)),
    )


def _unfollowed(walker: Walker, events: Sequence[Event], loop: Loop | None) -> Iterator[Unfollowed]:
    """Yield the code that was not understood within a loop and in the loops around it."""
    around = {id(each) for e in events if e.kind == "backward" for each in e.loops}
    for code in walker.unfollowed:
        inside = any(each is loop for each in code.loops)
        if inside or all(id(each) in around for each in code.loops):
            yield code


def _module_of(loop: Loop, events: Sequence[Event], home: Module) -> Module:
    for event in events:
        if (
            any(around.node is loop.node for around in event.loops)
            and loop.node in event.module.parents
        ):
            return event.module
    return home


def _relevant(events: Sequence[Event]) -> list[Event]:
    """Drop divisions of what is no loss, and sums that are differentiated."""
    divided: set[int] = set()
    subjects: set[str] = set()
    for event in events:
        if event.kind == "backward":
            at = event.detail.get("divided_at")
            divided.update(getattr(at, "value", ()) if at is not None else ())
            subjects.add(event.subject)
    kept: list[Event] = []
    for event in events:
        if event.kind == "divide_loss" and id(event.node) not in divided:
            continue
        if event.kind == "sum_loss" and _differentiated(event.subject, subjects):
            continue
        kept.append(event)
    return kept


def _differentiated(name: str, subjects: set[str]) -> bool:
    return any(
        name == subject or f"({name})" in subject or f"{name}." in subject
        for subject in subjects
        if name
    )


def _window(
    walker: Walker, events: Sequence[Event], micro: dict[int, Loop]
) -> tuple[bool, bool, Value | None]:
    """Return whether the program counts micro-batches, whether there are windows, and how long."""
    for event in events:
        for context in event.contexts:
            if context.kind == "accumulate":
                return False, True, _of_library(walker, context.node, event)
    for event in events:
        test = event.window if event.kind == "step" else None
        if test is not None:
            by_hand = test.key not in ("accelerator", "engine", "library")
            return by_hand, True, test.steps
    for event in events:
        test = event.window if event.kind == "zero_grad" else None
        if test is not None and not test.opens:
            return True, True, test.steps
    if micro:
        loop = next(iter(micro.values()))
        return True, True, _length(walker, loop)
    kinds = {e.kind for e in events}
    if "accumulate" in kinds and "step" in kinds:
        return True, True, Unknown("", "the number of summed gradients is unknown")
    libraries = {e.library for e in events if e.kind == "backward"}
    if libraries & {"deepspeed", "mmengine"}:
        return False, False, Unknown("", "the configuration of the library says it", "config")
    return True, False, None


def _of_library(walker: Walker, node: object, event: Event) -> Value:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        frame = walker.frame_of.get(node) or CallFrame(event.module, None)
        return library_steps(node.func.value, frame)
    return Unknown("", "a library counts the micro-batches")


def _length(walker: Walker, loop: Loop) -> Value:
    length = walker.lengths.get(id(loop))
    return length if length is not None else Unknown(loop.over, "the loop runs over data")
