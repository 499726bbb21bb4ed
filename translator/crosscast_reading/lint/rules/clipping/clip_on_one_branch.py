"""CL306: gradients are clipped in only one precision mode."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import (
    backward_of,
    compatible,
    conditions,
    place_in_loop,
    tape_steps,
    window_steps,
)
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, TrainingStep
from crosscast_reading.trainstep.frames.object_kinds import kind_of_maker

_PRECISION = re.compile(
    r"fp16|bf16|\bamp\b|_amp\b|amp_|half|mixed|scaler|loss_scal|apex|precision", re.I
)
_FUSED = re.compile(r"apex\.(contrib\.)?optimizers(\.fused_adam)?\.FusedAdam")


def check(subject: Subject) -> Iterator[Finding]:
    """Find clips in one branch of a condition about precision where both branches step."""
    yield from _in_optimizers(subject)
    yield from _in_two_functions(subject)
    for step in (*window_steps(subject), *tape_steps(subject)):
        clips = step.inside("clip")
        reported: set[str] = set()
        for clip in clips:
            for text, holds in conditions(clip):
                if text in reported or not _PRECISION.search(text) or "clip" in text:
                    continue
                other = _other(step, text, holds)
                if other is None or any(_may_happen(event, text, not holds) for event in clips):
                    continue
                reported.add(text)
                yield Finding(
                    span=place_in_loop(clip),
                    message=f"gradients are clipped {'if' if holds else 'unless'} {text}, but "
                    "not on the other path",
                    hint="clip on both paths or on neither",
                    related=(other.span,),
                )


def _in_optimizers(subject: Subject) -> Iterator[Finding]:
    """Find apex optimizers that clip inside, where the optimizer of the other branch does not.

    `if args.fp16: optimizer = FusedAdam(..., max_grad_norm=1.0)`, and no clip in any loop.
    """
    program = subject.program
    if any(step.of("clip") for step in subject.steps):
        return
    for module in program.modules:
        for call in module.calls:
            limit = call.argument("max_grad_norm") if _FUSED.fullmatch(call.name) else None
            branch = module.enclosing(call.node, ast.If)
            if not isinstance(branch, ast.If) or not branch.orelse:
                continue
            match limit:
                case Known(value=int() | float() as value) if value:
                    pass
                case _:
                    continue
            if not _PRECISION.search(module.text(branch.test)):
                continue
            inside = [node for statement in branch.body for node in walk(statement)]
            others = [node for statement in branch.orelse for node in walk(statement)]
            if call.node not in inside or not any(_is_plain(node, module) for node in others):
                continue
            yield Finding(
                span=module.span(call.bound()["max_grad_norm"]),
                message=f"the optimizer clips gradients itself if {module.text(branch.test)}, but "
                "nothing clips them on the other path",
                hint="clip on both paths or on neither",
            )


def _is_plain(node: ast.AST, module: Module) -> bool:
    """Whether an optimizer is made that does not clip."""
    if not isinstance(node, ast.Call):
        return False
    call = module.call(node)
    makes_optimizer = kind_of_maker(call.name) == "optimizer" and not call.name.endswith("BertAdam")
    return makes_optimizer and "max_grad_norm" not in call.bound() and not call.has_star


def _in_two_functions(subject: Subject) -> Iterator[Finding]:
    """Find clips in the step of one precision, if a step of its own is defined for the other."""
    steps = list(tape_steps(subject))
    plain = [step for step in steps if not step.inside("clip")]
    updates = [update for step in plain for update in step.inside("step")[:1]]
    for clip in (clip for step in steps for clip in step.inside("clip")[:1]):
        for test, arm in _arms(clip):
            inside = [node for part in arm for node in walk(part)]
            for update in (each for each in updates if each.node in inside):
                yield Finding(
                    span=clip.span,
                    message=f"gradients are clipped in one mode of {clip.module.text(test)}, but "
                    "not in the other",
                    hint="clip in both steps or in neither",
                    related=(update.span,),
                )


def _arms(event: Event) -> Iterator[tuple[ast.expr, list[ast.stmt]]]:
    """Yield the conditions about precision around an event, each with its other arm."""
    child: ast.AST = event.node
    parent = event.module.parent(child)
    while parent is not None:
        match parent:
            case ast.If(test=test, body=body, orelse=orelse):
                if _PRECISION.search(event.module.text(test)):
                    yield test, orelse if child in body else body
        child, parent = parent, event.module.parent(parent)


def _other(step: TrainingStep, text: str, holds: bool) -> Event | None:
    """Return the backward pass of the other precision, if a step follows it."""
    for event in backward_of(step):
        if (text, not holds) in conditions(event):
            after = [
                o for o in step.inside("step") if o.order > event.order and compatible(event, o)
            ]
            if after:
                return event
    return None


def _may_happen(event: Event, text: str, holds: bool) -> bool:
    return (text, not holds) not in conditions(event)


RULE = Rule("CL306", check, hints=("clip", "clamp", "max_grad_norm"))
