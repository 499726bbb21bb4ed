"""CL113: the program counts windows, but the optimizer steps after every micro-batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from crosscast_reading.lint.answers.loop import (
    backward_of,
    compatible,
    eager_steps,
    implies,
    known_word,
    own_windows,
)
from crosscast_reading.lint.answers.windows import ACCUMULATES, end_tests, modules_of
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, EventKind, Guard, TrainingStep, WindowTest
from crosscast_reading.trainstep.windows.linear import Remainder, take_apart

_MERGES = re.compile(r"gradient_?merge|backward_passes_per_step", re.I)
"""Words of libraries that accumulate within the step."""
_CLEARS = re.compile(r"zero_?grad|clear|reset", re.I)
_UPDATE: tuple[EventKind, ...] = ("step", "zero_grad")
_SWITCH = re.compile(
    r"(?<![a-z])(amp|autocast|fp16|bf16|float16|bfloat16|half|mixed|precision|apex|scaler"
    r"|distributed|ddp|cuda|gpu)(?![a-z])",
    re.I,
)
"""Words of conditions that decide how a step is computed, not how many rows it has."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find loops without windows that divide losses, or hold the schedule, for windows."""
    for step in eager_steps(subject):
        yield from _on_a_branch(step)
        yield from _clears_late(step)
        applied, backward = step.of("step"), step.of("backward")
        if step.windowed or not applied:
            continue
        yield from _schedule_waits(step, backward)
        if any(event.library not in ("", "apex") for event in applied):
            continue
        if not all(implies(event, other) for event in backward for other in applied):
            continue
        for divided in step.of("divide_loss"):
            text = str(known_word(divided, "by_text"))
            if ACCUMULATES.search(text) and known_word(divided, "by") != 1:
                yield Finding(
                    span=divided.span,
                    message=f"the loss is divided by {text}, but the optimizer steps after every "
                    "micro-batch",
                    hint=f"step when `(step + 1) % {text} == 0`, or do not divide",
                    related=(applied[0].span,),
                )


def _clears_late(step: TrainingStep) -> Iterator[Finding]:
    """Find gradients that are cleared once a window while every micro-batch is an update."""
    applied, cleared = step.inside("step"), step.inside("zero_grad")
    backward = backward_of(step)
    every = all(
        event.library in ("", "apex") and all(implies(other, event) for other in backward)
        for event in applied
    )
    ends = [e.window for e in cleared if e.window is not None and not e.window.by_caller]
    if applied and backward and every and ends and len(ends) == len(cleared):
        if _may_clear(step):
            return
        yield Finding(
            span=applied[0].span,
            message="the optimizer steps after every micro-batch, but the gradients are cleared "
            f"once in {ends[0].steps_text}: each step repeats those before it",
            hint="step and clear under the same condition",
            related=(cleared[0].span,),
        )


def _may_clear(step: TrainingStep) -> bool:
    """Whether code that is not seen may clear the gradients: `reset_gradients(model)`."""
    if step.loop is None or step.unfollowed:
        return True
    seen = {event.node for event in step.of("zero_grad")}
    return any(
        isinstance(node, ast.Call) and node not in seen and _CLEARS.search(identifier(node.func))
        for node in walk(step.loop.node)
    )


def _schedule_waits(step: TrainingStep, backward: Sequence[Event]) -> Iterator[Finding]:
    """Find schedules that advance once a window while every micro-batch is an update."""
    if any(_MERGES.search(module.code) for module in modules_of(step)):
        return
    if not all(_updates(event, step) for event in backward):
        return
    for event in step.inside("schedule"):
        for guard in event.guards:
            match take_apart(guard.node):
                case Remainder(divisor=divisor, equal=guard.holds):
                    length = event.module.text(divisor)
                case _:
                    continue
            if ACCUMULATES.search(length):
                yield Finding(
                    span=event.module.owner_of(guard.node).span(guard.node),
                    message=f"the schedule waits for {length} micro-batches, but the optimizer "
                    "steps and clears the gradients after every one",
                    hint="step and clear under the same condition, and divide the loss",
                    related=tuple(applied.span for applied in step.of("step")[:1]),
                )


def _on_a_branch(step: TrainingStep) -> Iterator[Finding]:
    """Find branches that step after every micro-batch, where the other branch has windows."""
    for applied, guard, test in _without_windows(step):
        branch = guard.text if guard.holds else f"not {guard.text}"
        yield Finding(
            span=applied.span,
            message=f"with `{branch}` the optimizer steps after every micro-batch, and "
            f"{test.steps_text} counts for nothing; the other branch has windows",
            hint="divide the loss and wait for the end of the window on both branches",
            related=(applied.module.owner_of(test.node).span(test.node),),
        )


def _updates(backward: Event, step: TrainingStep) -> bool:
    """Whether a backward pass is always followed by a step and a clearing of the gradients."""
    return all(
        any(
            event.order > backward.order
            and event.library in ("", "paddle")
            and implies(backward, event)
            for event in step.inside(kind)
        )
        for kind in _UPDATE
    )


def _without_windows(step: TrainingStep) -> Iterator[tuple[Event, Guard, WindowTest]]:
    """Yield the steps after every micro-batch on a branch whose other branch has windows.

    Yields also the condition, and the test for the end of a window on the other branch.
    """
    if not own_windows(step):
        return
    ends = [(event, test) for event, test in end_tests(step) if not test.by_caller]
    for applied in step.inside("step"):
        if applied.window is not None or any(compatible(event, applied) for event, _ in ends):
            continue
        if not _ends_every_round(applied, step):
            continue
        for guard in applied.guards:
            if not _SWITCH.search(guard.text.replace("_", " ")) or guard.window is not None:
                continue
            tests = [test for event, test in ends if _sets_apart(guard, applied, event)]
            lengths = [test for test in tests if ACCUMULATES.search(test.steps_text)]
            if lengths and not _asked_together(guard.text, step):
                yield applied, guard, lengths[0]
                break


def _sets_apart(switch: Guard, applied: Event, other: Event) -> bool:
    """Whether only a switch, and what follows on the other branch, sets two steps apart."""
    met = {id(guard.node): guard.holds for guard in other.guards}
    return all(
        met.get(id(guard.node)) is (guard.holds if guard is not switch else not guard.holds)
        for guard in applied.guards
    )


def _ends_every_round(applied: Event, step: TrainingStep) -> bool:
    """Whether a step follows every backward pass of its branch, and the gradients are cleared."""
    backward = [event for event in backward_of(step) if compatible(event, applied)]
    cleared = [event for event in step.inside("zero_grad") if compatible(event, applied)]
    return (
        bool(backward)
        and applied.library in ("", "apex")
        and all(implies(event, applied) and event.loops == applied.loops for event in backward)
        and any(implies(applied, event) for event in cleared)
    )


def _asked_together(switch: str, step: TrainingStep) -> bool:
    """Whether the program knows that the two do not go together, and refuses or reports them."""
    for module in modules_of(step):
        for node in module.nodes:
            if isinstance(node, ast.If | ast.Assert):
                text = module.text(node.test)
                if switch in text and ACCUMULATES.search(text):
                    return True
    return False


RULE = Rule("CL113", check, hints=("accum", "iter_size", "update_freq", "micro", " % "))
