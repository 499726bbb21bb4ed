"""CL120: a model keeps the gradients of another model's loss, and is stepped with them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.gradient_paths import CUT, model_of
from crosscast_reading.lint.answers.loop import compatible, eager_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.value_flow import value_in
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep

_PASSES = {"stop_gradient": False, "requires_grad": True, "trainable": True}
"""Attributes of parameters, and the value that lets gradients through."""
_FREEZES = re.compile(r"freez|toggle|requires_grad|trainable", re.I)


def check(subject: Subject) -> Iterator[Finding]:
    """Find two optimizers of which one's loss runs through the other's model.

    The backward pass of that loss leaves gradients in the other model, to which its own backward
    pass adds, unless something clears them in between.
    """
    for step in eager_steps(subject):
        if step.loop is None or step.windowed:
            continue
        if any(_may_freeze(module) for module in {event.module for event in step.events}):
            continue
        steps = step.inside("step")
        if len({event.subject for event in steps}) != 2 or _hidden(step):
            continue
        for name in dict.fromkeys(event.subject for event in steps):
            yield from _leaks(step, name)


def _leaks(step: TrainingStep, subject: str) -> Iterator[Finding]:
    """Find what the loss of the other optimizer leaves for one."""
    own = [event for event in step.inside("step") if event.subject == subject]
    other = [event for event in step.inside("step") if event.subject != subject]
    model = model_of(own[0])
    if not model or model == model_of(other[0]):
        return
    mine, theirs = _backward(step, own, other), _backward(step, other, own)
    clears = [e for e in step.events if e.kind == "zero_grad" and e.subject in (subject, model)]
    if not mine or not theirs or not clears or len(step.inside("backward")) != len(mine + theirs):
        return
    if any(_is_between(event.order, theirs[0].order, mine[0].order) for event in clears):
        return
    if any(event.subject not in _known_subjects(step, model) for event in step.of("zero_grad")):
        return
    if _is_handed_on(step, (subject, model)):
        return
    begin = own[-1].order if own[0].order < other[0].order else -1
    for forward in step.inside("forward"):
        before = begin < forward.order < theirs[0].order
        if forward.subject != model or not before or forward.context("no_grad") is not None:
            continue
        sources = [e for e in step.inside("forward") if e.subject == model_of(other[0])]
        if not any(_reaches(source, forward) for source in sources):
            continue
        if any(compatible(forward, each) and _reaches(forward, each) for each in theirs):
            yield Finding(
                span=theirs[0].span,
                message=f"{model} gets gradients here as well, because the loss runs through it. "
                f"Nothing clears them before its own loss adds to them: {subject} steps with both",
                hint=f"clear {subject} right before the backward pass of its own loss",
                related=(forward.span, clears[0].span),
            )
            return


def _backward(step: TrainingStep, own: list[Event], other: list[Event]) -> list[Event]:
    """Return the backward passes of an optimizer: before its step, and after that of the other."""
    begin = other[-1].order if other[-1].order < own[0].order else -1
    return [e for e in step.inside("backward") if begin < e.order < own[0].order]


def _is_between(order: int, first: int, last: int) -> bool:
    """Whether something happens after one event and before the next round's other one."""
    return first < order < last if first < last else order > first or order < last


def _known_subjects(step: TrainingStep, model: str) -> set[str]:
    """Return the optimizers that step, and their models."""
    models = {model_of(event) for event in step.inside("step")}
    return {event.subject for event in step.inside("step")} | models | {model}


def _is_handed_on(step: TrainingStep, names: tuple[str, ...]) -> bool:
    """Whether a call in the loop that is no event gets the optimizer or the model."""
    known = {event.node for event in step.events}
    module = step.module
    assert step.loop is not None
    for node in walk(step.loop.node):
        if isinstance(node, ast.Call) and node not in known:
            arguments = [*node.args, *(word.value for word in node.keywords)]
            if any(module.text(each) in names for each in arguments):
                return True
    return False


def _hidden(step: TrainingStep) -> bool:
    """Whether code that is not understood may clear gradients, or the loop ends early."""
    return bool(step.unfollowed) or bool(step.inside("leave"))


@once
def _may_freeze(module: Module) -> bool:
    """Whether something may keep gradients away from a model that a loss runs through."""
    for node in module.every(ast.Assign):
        for target in node.targets:
            word = target.attr if isinstance(target, ast.Attribute) else ""
            passes = isinstance(node.value, ast.Constant) and node.value.value is _PASSES.get(word)
            if word in _PASSES and not passes:
                return True
    return any(_FREEZES.search(call.method) for call in module.calls)


def _reaches(forward: Event, event: Event) -> bool:
    """Whether what a model returns gets into an argument or the loss of an event."""
    module = forward.module
    waiting: list[ast.AST] = [event.node] if event.module is module else []
    seen: set[ast.AST] = set()
    while waiting:
        node = waiting.pop()
        if node is forward.node and node is not event.node:
            return True
        if node in seen or (isinstance(node, ast.Attribute) and node.attr in CUT):
            continue
        seen.add(node)
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Name | ast.Attribute):
            bindings = [each for each in definitions(node, module) if each.module is module]
            waiting += filter(None, map(value_in, bindings))
    return False


RULE = Rule("CL120", check, hints=("clear_grad", "zero_grad"))
