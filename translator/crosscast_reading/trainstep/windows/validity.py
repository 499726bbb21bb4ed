"""Which tests of a loop are window tests, and which merely decide about logging or saving."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace

from crosscast_reading.trainstep.events import Context, Event, Guard, WindowTest, possible
from crosscast_reading.trainstep.windows.inverted import is_inverted, turned

_Key = tuple[str, str]
LIBRARY_KEYS = frozenset({"accelerator", "engine", "library"})
"""Keys of tests that ask a library."""


def with_windows(events: Sequence[Event]) -> list[Event]:
    """Return the events with only those window tests left that decide about the optimizer."""
    groups = _by_guard(events)
    keys: set[_Key] = set()
    opening: set[_Key] = set()
    inverted = {_key(test) for test, _, under in groups if is_inverted(test, under, events)}
    if inverted:
        events = [turned(event, inverted) for event in events]
        groups = _by_guard(events)
    for test, polarity, under in groups:
        if _decides(test, polarity, under, events):
            keys.add(_key(test))
        elif _opens(under):
            opening.add(_key(test))
    opening &= keys
    memo: dict[int, Guard] = {}
    checked = [_filtered(event, keys, opening, memo, groups) for event in events]
    return [event for event in checked if possible(event.guards)]


_Group = tuple[WindowTest, bool, list[tuple[Event, bool]]]


def _by_guard(events: Iterable[Event]) -> list[_Group]:
    """Return every window test with the events under it, and whether they are at its end."""
    groups: dict[int, _Group] = {}
    for event in events:
        for guard in event.guards:
            group = groups.get(id(guard.node))
            if group is None:
                if guard.window is None:
                    continue
                group = groups[id(guard.node)] = (guard.window, guard.window.positive, [])
            group[2].append((event, guard.holds == group[1]))
    return list(groups.values())


def _key(test: WindowTest) -> _Key:
    return (test.counter, test.key)


def _decides(
    test: WindowTest, polarity: bool, under: list[tuple[Event, bool]], events: Sequence[Event]
) -> bool:
    """Whether a step (or the clearing) happens at the end of the window and a backward before."""
    if test.opens:
        return False
    if test.key in LIBRARY_KEYS:
        return True
    acting = [e for e, at_end in under if at_end and e.kind in ("step", "zero_grad")]
    if not acting:
        return False
    steps = [e for e in acting if e.kind == "step"]
    first = min(e.order for e in steps or acting)
    opposite = any(e.kind == "backward" and not at_end for e, at_end in under)
    if opposite:
        return True
    if any(e.kind == "backward" and at_end and e.order < first for e, at_end in under):
        return False
    inside = {id(e) for e, _ in under}
    outside = [e for e in events if e.kind == "backward" and id(e) not in inside]
    if steps:
        return bool(outside) or not any(e.kind == "backward" for e, _ in under)
    before = [e for e in outside if e.order < first]
    return bool(before)


def _opens(under: list[tuple[Event, bool]]) -> bool:
    """Whether gradients are cleared or the rate is set under a test, but no step: it opens one."""
    kinds = {e.kind for e, at_end in under if at_end}
    return "step" not in kinds and bool(kinds & {"zero_grad", "schedule"})


def _filtered(
    event: Event,
    keys: set[_Key],
    opening: set[_Key],
    memo: dict[int, Guard],
    groups: Sequence[_Group],
) -> Event:
    if not event.guards and not any(c.guards for c in event.contexts):
        return event
    guards = tuple(_checked(g, keys, opening, memo, groups) for g in event.guards)
    contexts = event.contexts
    if any(c.guards for c in contexts):
        contexts = tuple(_context(c, keys, opening, memo, groups) for c in contexts)
    if guards == event.guards and contexts is event.contexts:
        return event
    return replace(event, guards=guards, contexts=contexts)


def _context(
    context: Context,
    keys: set[_Key],
    opening: set[_Key],
    memo: dict[int, Guard],
    groups: Sequence[_Group],
) -> Context:
    if not context.guards:
        return context
    guards = tuple(_checked(g, keys, opening, memo, groups) for g in context.guards)
    return replace(context, guards=guards)


def _checked(
    guard: Guard,
    keys: set[_Key],
    opening: set[_Key],
    memo: dict[int, Guard],
    groups: Sequence[_Group],
) -> Guard:
    window = guard.window
    if window is None:
        return guard
    known = memo.get(id(guard))
    if known is not None:
        return known
    key = _key(window)
    if key not in keys and not (window.opens and any(k[1] == key[1] for k in keys)):
        checked_guard = replace(guard, window=None)
    elif key in opening and window.first == 1 and not window.opens and _clears(guard.node, groups):
        checked_guard = replace(guard, window=replace(window, opens=True))
    else:
        checked_guard = guard
    memo[id(guard)] = checked_guard
    return checked_guard


def _clears(node: ast.expr, groups: Sequence[_Group]) -> bool:
    for test, _, under in groups:
        if test.node is node:
            return _opens(under)
    return False
