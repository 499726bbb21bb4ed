"""CL303: gradients are clipped after every micro-batch of a window."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import backward_of, compatible, eager_steps
from crosscast_reading.lint.answers.windows import accelerator_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, Loop, TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find clips of incomplete sums."""
    for step in eager_steps(subject):
        if not step.windowed:
            continue
        for clip in step.inside("clip"):
            waiting = _waits(step, clip)
            if waiting is not None and clip.window is None and _is_within_window(clip, step):
                yield Finding(
                    span=clip.span,
                    message="the gradients are clipped after every micro-batch, before the "
                    "window is complete",
                    hint="clip once, right before the optimizer step"
                    if clip.context("accumulate") is None
                    else "clip only `if accelerator.sync_gradients:`",
                    related=(waiting.span,),
                )


def _waits(step: TrainingStep, clip: Event) -> Event | None:
    """Return the step at the end of a window, if there certainly are windows."""
    after = [event for event in step.inside("step") if event.order > clip.order]
    applied = [event for event in after if compatible(event, clip)]
    if not applied:
        return None
    if any(event.context("accumulate") for event in backward_of(step)):
        return None if accelerator_steps(step) == 1 else applied[-1]
    micro = [loop for loop in clip.loops if loop.role == "micro"]
    if micro and step.by_hand and not any(loop in o.loops for o in applied for loop in micro):
        return applied[-1]  # behind the loop over the micro-batches of one window
    if not step.by_hand or any(event.window is None or event.window.by_caller for event in applied):
        return None
    return applied[-1]


def _is_within_window(clip: Event, step: TrainingStep) -> bool:
    """Whether it happens in iterations within a window: no condition may test for its end."""
    if any(word in guard.text for guard in clip.guards for word in ("sync", "%", "accum")):
        lengths = any(guard.text.endswith("> 1") for guard in clip.guards)
        if not lengths or any("%" in g.text or "sync" in g.text for g in clip.guards):
            return False
    backward = [o for o in backward_of(step) if o.order < clip.order and compatible(o, clip)]
    if not backward:
        return False
    same = [event for event in backward if event.loops == _of_batches(clip)]
    nodes = {id(guard.node) for event in backward for guard in event.guards}
    own = [guard for guard in clip.guards if id(guard.node) not in nodes]
    counters = {loop.counter for loop in _of_batches(clip)[-1:] if loop.role == "micro"}
    counted = {identifier(n) for g in own for n in ast.walk(g.node) if isinstance(n, ast.expr)}
    if counters & counted - {""}:
        return False
    return bool(same) and not any(_may_end(guard.text) for guard in own)


def _of_batches(clip: Event) -> tuple[Loop, ...]:
    """Return the loops around a clip without those over what it clips, one weight after another."""
    loops = clip.loops
    names = {node.id for node in ast.walk(clip.node) if isinstance(node, ast.Name)}
    while loops and loops[-1].role == "other" and _runs_over(loops[-1], names):
        loops = loops[:-1]
    return loops


def _runs_over(loop: Loop, names: set[str]) -> bool:
    """Whether a loop runs over something that a statement names."""
    if isinstance(loop.node, ast.While):
        return False
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(loop.node.target))


def _may_end(text: str) -> bool:
    """Whether a condition may be another test for the end of a window."""
    words = ("step", "update", "last", "final", "boundary", "iter", "end")
    return any(word in text.lower() for word in words)


RULE = Rule("CL303", check, hints=("clip", "clamp"))
