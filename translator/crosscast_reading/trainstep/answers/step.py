"""What a training step says about clearing, clipping, the loss scale and the learning rate."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.trainstep.answers.clip_conditions import with_conditions
from crosscast_reading.trainstep.answers.warmups import without_warmups
from crosscast_reading.trainstep.answers.windows import (
    Answer,
    answer,
    default_events,
    in_micro_loop,
    with_windows,
)
from crosscast_reading.trainstep.events import Event, Guard, TrainingStep
from crosscast_reading.trainstep.windows.returned_windows import asks_the_step

_STATIC = frozenset({"paddle_static"})
_DONE_BY_LIBRARY = frozenset({"deepspeed", "mmengine"})
_SCALED_BY_LIBRARY = frozenset({"accelerate", "lightning_fabric", "deepspeed", "mmengine", "apex"})
_SKIPS = frozenset({"fp16_optimizer"})
"""Optimizers that leave out an update whose gradients overflow."""


def libraries(step: TrainingStep) -> set[str]:
    """Return who computes gradients."""
    return {e.library for e in step.of("backward")}


# ---- clearing

_BROKEN = re.compile(r"isnan|isinf|\bnan\b|overflow", re.I)
_SOUND = re.compile(r"is_?finite", re.I)


def cleared(step: TrainingStep) -> Answer | None:
    """Return where gradients are cleared."""
    who = libraries(step)
    if "jax" in who:
        return answer("functional", *step.of("backward")[:1])
    if who & _STATIC:
        return answer("static_graph", *step.of("backward")[:1])
    if who & _DONE_BY_LIBRARY:
        return answer("library", *step.of("backward")[:1])
    own = [e for e in step.inside("zero_grad") if e.library not in _DONE_BY_LIBRARY]
    own = [e for e in own if not _at_first(e, step)] or own
    own = [e for e in own if not any(map(_gives_up, e.guards))] or own
    events = default_events(with_windows(step, own))
    if "tensorflow" in who and not step.of("accumulate"):
        return None
    clearings = [(_where(e, step), e) for e in events]
    for where, event in clearings:
        if where:
            return answer(where, event)
    return None


def _gives_up(guard: Guard) -> bool:
    """Whether a round is given up under a condition, as its loss is not a number."""
    holds = guard.holds != guard.text.startswith("not ")
    return bool((_BROKEN if holds else _SOUND).search(guard.text))


def _at_first(event: Event, step: TrainingStep) -> bool:
    """Whether something happens in the first round of a loop only: `if i == 0`."""
    loop = step.loop
    first = f"{loop.counter} == {loop.start}" if loop is not None and loop.counter else ""
    return any(guard.text == first and guard.holds for guard in event.guards)


def _where(zero: Event, step: TrainingStep) -> str:
    if any(g.window is not None and g.window.opens for g in zero.guards):
        return "window_start"
    inside = with_windows(step, step.inside("forward", "backward", "step"))
    if zero.by_default:
        inside = default_events(inside)
    before = [e for e in inside if e.order < zero.order and not e.excludes(zero)]
    if any(e.kind == "step" for e in before):
        later = [e for e in inside if e.order > zero.order and e.kind == "step"]
        if not later or zero.order > max(e.order for e in before if e.kind == "step"):
            return (
                "after_step" if not _next_phase(zero, before, inside) else _relative(zero, before)
            )
    return _relative(zero, before, step)


def _next_phase(zero: Event, before: Sequence[Event], inside: Sequence[Event]) -> bool:
    """Whether it opens the next part of the round: another optimizer's turn follows."""
    last = max((e for e in before if e.kind == "step"), key=lambda e: e.order)
    follows = [e for e in inside if e.order > zero.order and e.kind == "backward"]
    return bool(follows) and last.subject != zero.subject and not last.excludes(zero)


def _relative(zero: Event, before: Sequence[Event], step: TrainingStep | None = None) -> str:
    if step is not None and any(in_micro_loop(e) for e in step.inside("backward")):
        micro = [e for e in step.inside("backward") if in_micro_loop(e) and e.order > zero.order]
        if micro and not in_micro_loop(zero) and not any(e.kind == "backward" for e in before):
            return "window_start"
    forward = [e for e in before if e.kind == "forward"]
    live = any(e.context("no_grad") is None for e in forward)
    unseen = not forward and step is not None and _has_loss(zero, step)
    return "before_backward" if live or unseen else "before_forward"


def _has_loss(zero: Event, step: TrainingStep) -> bool:
    """Whether the loss is there when gradients are cleared, whatever computes it.

    Everything in the loop that sets it stands before.
    """
    backward = [e for e in step.inside("backward") if e.order > zero.order]
    if step.loop is None or not backward or zero.calls != backward[0].calls:
        return False
    name = re.match(r"\w*", backward[0].subject)
    places = [
        (node.lineno, node.col_offset)
        for node in walk(step.loop.node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        if name is not None and node.id == name.group()
    ]
    here = (getattr(zero.node, "lineno", 0), getattr(zero.node, "col_offset", 0))
    return bool(places) and max(places) < here and zero.module is backward[0].module


# ---- clipping


def clips(step: TrainingStep) -> list[Event]:
    """Return the clipping of gradients that can happen at all."""
    clip_events = []
    for event in step.inside("clip"):
        if event.library == "tensorflow" and not _applied(event, step):
            continue
        limit = event.detail.get("max")
        if isinstance(limit, Known) and limit.value is None and not _is_a_setting(event):
            continue
        clip_events.append(event)
    return with_conditions(clip_events, step)


def _is_a_setting(clip: Event) -> bool:
    """Whether a limit of None is but the default of a setting: clipping to None would fail."""
    limit, text = clip.detail.get("max"), clip.detail.get("max_text")
    return bool(getattr(limit, "flag", "")) or "." in str(getattr(text, "value", ""))


def _applied(clip: Event, step: TrainingStep) -> bool:
    """Whether gradients that were clipped as values reach an optimizer at all."""
    if _is_dropped(clip):
        return False
    later = [e for e in step.inside("step") if e.order > clip.order and not e.excludes(clip)]
    return not later or any("minimize" not in e.detail for e in later)


def _is_dropped(clip: Event) -> bool:
    """Whether the clipped gradients get a name that nothing reads: `_, norm = clip(...)`."""
    module = clip.module
    match module.parent(clip.node):
        case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=name), *_]) | ast.Name(id=name)]):
            around: ast.AST = module.function_of(clip.node) or module.tree
            return not any(
                isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
                for node in walk(around)
            )
    return False


def clip_kind(events: Sequence[Event]) -> Answer | None:
    """Return how gradients are clipped."""
    kinds = {_word(e.detail.get("kind")) for e in events} - {""}
    if not kinds:
        return None
    if kinds == {"per_param_norm", "global_norm"} and not any(
        a.excludes(b) for a in events for b in events
    ):
        return answer("per_var_then_global", *events)
    return answer(kinds.pop() if len(kinds) == 1 else "selectable", *events)


def _word(value: Value | None) -> str:
    return str(value.value) if isinstance(value, Known) else ""


def clip_unscaled(step: TrainingStep, events: Sequence[Event]) -> Answer | None:
    """Return whether the loss scale is gone when gradients are clipped."""
    words = {_unscaled(step, e) for e in events} - {""}
    if not words:
        return None
    if words == {"amp_master_params", "yes"}:
        words = {"amp_master_params"}
    return answer(words.pop() if len(words) == 1 else "mixed", *events)


def _unscaled(step: TrainingStep, clip: Event) -> str:
    if clip.context("scale_loss") is not None:
        return "no"  # apex takes the scale out where the block ends
    if "masters" in clip.detail:
        return "amp_master_params"
    if clip.library in ("accelerate", "lightning_fabric", "deepspeed", "optimizer"):
        return "library" if clip.library != "optimizer" else "yes"
    if clip.library == "timm":
        return "yes"
    before = [e for e in step.of("backward") if e.order < clip.order and not e.excludes(clip)]
    scaled = [e for e in before if e.scaler]
    if not scaled:
        return ""
    if any(e.library == "apex" for e in scaled):
        return ""
    undone = [e for e in step.of("unscale") if e.order < clip.order and not e.excludes(clip)]
    if not undone:
        return "no"
    return "mixed" if all(_by_generation(event, clip) for event in undone) else "yes"


def _by_generation(unscale: Event, clip: Event) -> bool:
    """Whether the scale is only taken out if a scaler has a method, as that of Keras 2 alone."""
    mine = {guard.node for guard in clip.guards}
    return any(
        guard.holds and guard.node not in mine and _asks_for_method(guard.node)
        for guard in unscale.guards
    )


def _asks_for_method(test: ast.expr) -> bool:
    match test:
        case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=str(name))]):
            return "unscale" in name
    return False


def clip_per(step: TrainingStep, events: Sequence[Event]) -> Answer | None:
    """Return whether gradients are clipped once a window or for every micro-batch."""
    counted = step.windowed and step.by_hand
    single = isinstance(step.steps, Known) and step.steps.value == 1 and not step.steps.flag
    micro = [
        e
        for e in events
        if _is_summed(e, step)
        or (counted and _each_time(e, step))
        or (not (single or e.window) and e.context("accumulate") is not None)
    ]
    return answer("micro", *micro) if micro else answer("step", *events)


def _is_summed(clip: Event, step: TrainingStep) -> bool:
    """Whether gradients are clipped as values and then added to those of other micro-batches."""
    taped = any(event.library == "tensorflow" for event in step.of("backward"))
    if not taped or clip.library not in ("tensorflow", "") or clip.window is not None:
        return False
    return any(e.order > clip.order and not e.excludes(clip) for e in step.of("accumulate"))


def _each_time(event: Event, step: TrainingStep) -> bool:
    """Whether an event of a windowed step happens for every micro-batch."""
    if event.window is not None or _unclear(event, step):
        return False
    micro = [e for e in step.inside("backward") if in_micro_loop(e)]
    if micro and not any(e.window for e in step.inside("step")):
        return in_micro_loop(event)
    tested = [e for e in step.inside("step") if e.window is not None]
    return any(not e.excludes(event) for e in tested)


# ---- loss scale


def scale_update(step: TrainingStep) -> Answer | None:
    """Return how often the loss scale is updated."""
    who = libraries(step)
    if "jax" in who:
        scaled = [e for e in step.of("backward") if e.scaler]
        return answer("custom", *scaled) if scaled else None
    updates = default_events(step.inside("update_scale"))
    if any("minimize" in e.detail for e in updates):
        return answer("library", *updates)
    if not updates:
        if who & _SCALED_BY_LIBRARY:
            return answer("library", *step.of("backward")[:1])
        steps = [e for e in default_events(step.inside("step")) if e.scaler]
        return answer("missing", *steps) if steps else None
    if step.windowed and step.by_hand and any(_each_time(e, step) for e in updates):
        return answer("per_micro", *updates)
    pair = _twice(updates)
    if pair is not None:
        return answer("per_optimizer", *pair)
    each = [e for e in updates if _beside_each_step(e, step)]
    return answer("per_optimizer", *each) if each else answer("ok", *updates)


def _beside_each_step(update: Event, step: TrainingStep) -> bool:
    """Whether it stands with a step in a loop over optimizers, outside of the backward pass."""
    around = {id(loop.node) for event in step.of("backward") for loop in event.loops}
    inner = [loop for loop in update.loops if id(loop.node) not in around]
    return bool(around and inner) and any(
        event.scaler == update.scaler and event.loops == update.loops
        for event in step.inside("step")
    )


def _twice(updates: Sequence[Event]) -> tuple[Event, Event] | None:
    for place, update in enumerate(updates):
        for other in updates[place + 1 :]:
            if update.scaler == other.scaler and not update.excludes(other):
                return update, other
    return None


# ---- learning rate

_SKIP = re.compile(r"skip|overflow|get_scale|found_inf|is_fin|scale_before|old_scale|has_inf", re.I)


def rate_stepped(step: TrainingStep) -> Answer | None:
    """Return the pace at which the learning rate moves on."""
    inside = default_events(without_warmups(step, step.inside("schedule")))
    around = [e for e in step.around("schedule") if e.loops]
    if step.loop is None and not inside:
        return None
    ways: dict[str, list[Event]] = {}
    for event in inside:
        if not _unclear(event, step):
            ways.setdefault(_way(event, step), []).append(event)
    if around:
        ways.setdefault("epoch", []).extend(around)
    if not ways:
        return None
    if set(ways) == {"step", "epoch"} or (around and _alternate(inside, around)):
        return answer("selectable", *(e for events in ways.values() for e in events))
    way = "micro" if "micro" in ways else next(iter(ways))
    return answer(way, *ways[way])


def unclear_rates(step: TrainingStep) -> list[Event]:
    """Return the events that move the rate on at an unknown pace: a function that steps decides."""
    return [event for event in step.inside("schedule") if _unclear(event, step)]


def _unclear(event: Event, step: TrainingStep) -> bool:
    """Whether a function that steps decides on an event by what it returns, which was not read."""
    ends = [e for e in step.inside("step") if e.window is not None]
    return any(g.window is None and asks_the_step(g, event, ends) for g in event.guards)


def _alternate(inside: Sequence[Event], around: Sequence[Event]) -> bool:
    """Whether the rate moves in each round or once an epoch, as one condition decides."""
    held, denied = ({_sign(g) for e in events for g in e.guards} for events in (inside, around))
    return bool(inside) and any((text, not holds) in denied for text, holds in held)


def _sign(guard: Guard) -> tuple[str, bool]:
    """Return a condition without its negation, and what it has to be."""
    plain = guard.text.removeprefix("not ")
    return plain, guard.holds == (plain == guard.text)


def _way(event: Event, step: TrainingStep) -> str:
    accumulates = any(e.context("accumulate") for e in step.of("backward"))
    if accumulates and "by_hand" not in event.detail:
        return "library"
    if event.window is not None or not step.windowed:
        return "epoch" if _now_and_then(event) else "step"
    elsewhere = any(guard.at_end is False for guard in event.guards)  # where no step is made
    return "micro" if step.by_hand and (elsewhere or _each_time(event, step)) else "step"


def _now_and_then(event: Event) -> bool:
    """Whether it is under a test such as `step % evaluate_every == 0`."""
    return "argument" in event.detail and any(
        g.window is None and "%" in g.text for g in event.guards
    )


def rate_on_skip(step: TrainingStep) -> Answer | None:
    """Return whether the learning rate moves on when an update is skipped."""
    inside = default_events(step.inside("schedule"))
    if not inside:
        return None
    if libraries(step) & {"accelerate"}:
        return answer("library", *inside)
    scaled = [e for e in step.inside("step", "backward") if e.scaler or e.library in _SKIPS]
    if not scaled:
        return None
    guarded = [e for e in inside if any(_SKIP.search(g.text) for g in e.guards)]
    return answer("guarded", *guarded) if guarded else answer("steps", *inside)
