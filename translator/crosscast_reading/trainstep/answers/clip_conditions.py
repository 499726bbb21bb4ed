"""Clipping that is left out in some updates, or of some weights, as a condition decides."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.trainstep.events import Event, Guard, TrainingStep
from crosscast_reading.trainstep.frames.clip_limits import PARTIAL, asks_for_gradient, is_part
from crosscast_reading.trainstep.frames.norms import holds_norm

AT_TIMES = "at_times"


def with_conditions(clips: Sequence[Event], step: TrainingStep) -> list[Event]:
    """Return clips whose kind is `at_times` or `partial` where a condition leaves some out.

    Settings, tests for the end of a window, and conditions that the step shares leave out none.
    """
    shared = _shared(step)
    return [_with_conditions(clip, shared, step) for clip in clips]


def unknown_conditions(clips: Sequence[Event], step: TrainingStep) -> tuple[str, ...]:
    """Return the settings without a known value that decide whether there is a clip at all.

    There are none if one of several clips happens anyway, or if two are branches of one condition.
    """
    shared = _shared(step)
    unknown_settings = [_unknown_of(clip, shared) for clip in clips]
    if not all(unknown_settings) or any(
        one.excludes(other) for one, other in combinations(clips, 2)
    ):
        return ()
    return unknown_settings[0]


def _unknown_of(clip: Event, shared: set[int]) -> tuple[str, ...]:
    return tuple(
        guard.words
        for guard in clip.guards
        if guard.value is None and guard.window is None
        if id(guard.node) not in shared and not _asks_for_norm(guard, clip)
    )


def _shared(step: TrainingStep) -> set[int]:
    """Return the conditions that a step of the optimizer or a backward pass stands under, too."""
    return {id(guard.node) for event in step.of("step", "backward") for guard in event.guards}


def _with_conditions(clip: Event, shared: set[int], step: TrainingStep) -> Event:
    if "kind" not in clip.detail:
        return clip
    weights = [loop for loop in clip.loops if loop.role == "other"]
    inner = {id(node) for loop in weights for node in walk(loop.node)}
    kind = ""
    for guard in clip.guards:
        if guard.window is not None or id(guard.node) in shared or _asks_for_norm(guard, clip):
            continue
        if id(guard.node) in inner:
            kind = kind or ("" if asks_for_gradient(guard.node) else PARTIAL)
        elif _changes(guard, clip):
            kind = AT_TIMES
    if not kind and any(_runs_over_part(loop.node, clip) for loop in weights):
        kind = PARTIAL
    return replace(clip, detail={**clip.detail, "kind": Known(kind)}) if kind else clip


def _runs_over_part(loop: ast.For | ast.While | ast.AsyncFor, clip: Event) -> bool:
    return not isinstance(loop, ast.While) and is_part(loop.iter, clip.module)


def _asks_for_norm(guard: Guard, clip: Event) -> bool:
    """Whether gradients below the limit are left as they are: `if norm > limit`."""
    return any(holds_norm(part, clip.module) for part in (guard.node, *walk(guard.node)))


def _changes(guard: Guard, clip: Event) -> bool:
    """Whether a condition reads what changes from one round to the next: a counter."""
    rounds = [loop for loop in clip.loops if loop.role != "other"]
    inside = {id(node) for loop in rounds for node in walk(loop.node)}
    for part in walk(guard.node):
        if isinstance(part, ast.Name):
            names = [(n, where) for n, where in chase(part, clip.module) if isinstance(n, ast.Name)]
            bindings = [binding for name, where in names for binding in definitions(name, where)]
            if any(id(b.node) in inside and b.kind in ("augment", "loop") for b in bindings):
                return True
        elif isinstance(part, ast.Attribute) and part.attr in _counted(clip.module):
            return True
    return False


@once
def _counted(module: Module) -> frozenset[str]:
    """Return the names of attributes that statements such as `self.step += 1` move on."""
    targets = (node.target for node in module.every(ast.AugAssign))
    return frozenset(target.attr for target in targets if isinstance(target, ast.Attribute))
