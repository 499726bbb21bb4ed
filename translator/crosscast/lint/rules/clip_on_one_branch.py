"""CL306: gradients are clipped in only one precision mode."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._loop import backward_of, compatible, conditions, eager_steps, tape_steps
from crosscast.messages.diagnostics import Severity
from crosscast.sources.subject import Subject
from crosscast.trainstep.events import Event, TrainingStep

_PRECISION = re.compile(
    r"fp16|bf16|\bamp\b|_amp\b|amp_|half|mixed|scaler|loss_scal|apex|precision", re.I
)
_CLIP = "        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
_RIGHT = """\
import torch

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = torch.nn.CrossEntropyLoss()
scaler = torch.amp.GradScaler("cuda")
for inputs, targets in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16, enabled=use_amp):
        loss = criterion(model(inputs), targets)
    if use_amp:
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
"""


def check(subject: Subject) -> Iterator[Finding]:
    """Find clips in one branch of a condition about precision where both branches step."""
    yield from _in_two_functions(subject)
    for step in (*eager_steps(subject), *tape_steps(subject)):
        clips = step.inside("clip")
        reported: set[str] = set()
        for clip in clips:
            for text, holds in conditions(clip):
                if text in reported or not _PRECISION.search(text) or "clip" in text:
                    continue
                other = _other(step, text, holds)
                if other is None or any(_can(event, text, not holds) for event in clips):
                    continue
                reported.add(text)
                yield Finding(
                    span=clip.span,
                    message=f"gradients are clipped {'if' if holds else 'unless'} {text}, but "
                    "not on the other path",
                    hint="clip on both paths or on neither",
                    related=(other.span,),
                )


def _in_two_functions(subject: Subject) -> Iterator[Finding]:
    """Find clips in the step of one precision, if a step of its own is defined for the other."""
    steps = list(tape_steps(subject))
    for step in steps:
        clip = next(iter(step.inside("clip")), None)
        arms = list(_arms(clip)) if clip is not None else []
        for other in steps:
            update = next(iter(other.inside("step")), None)
            if clip is None or update is None or other.inside("clip"):
                continue
            found = next((test for test, arm in arms if _is_in(update, test, arm)), None)
            if found is not None:
                yield Finding(
                    span=clip.span,
                    message=f"gradients are clipped in one mode of {clip.module.text(found.test)}, "
                    "but not in the other",
                    hint="clip in both steps or in neither",
                    related=(update.span,),
                )
                break


def _arms(event: Event) -> Iterator[tuple[ast.If, list[ast.stmt]]]:
    """Yield the conditions about precision around an event, each with its other arm."""
    child: ast.AST = event.node
    here = event.module.parent(child)
    while here is not None:
        switch = isinstance(here, ast.If) and _PRECISION.search(event.module.text(here.test))
        if isinstance(here, ast.If) and switch and child is not here.test:
            yield here, here.orelse if child in here.body else here.body
        child, here = here, event.module.parent(here)


def _is_in(event: Event, test: ast.If, arm: list[ast.stmt]) -> bool:
    """Whether an event stands in one arm of a condition."""
    child: ast.AST = event.node
    here = event.module.parent(child)
    while here is not None and here is not test:
        child, here = here, event.module.parent(here)
    return here is test and child in arm


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


def _can(event: Event, text: str, holds: bool) -> bool:
    return (text, not holds) not in conditions(event)


RULE = Rule(
    code="CL306",
    name="clip-on-one-branch",
    topic="clipping",
    severity=Severity.WARNING,
    title="Gradients are clipped in only one precision mode",
    why="Enabling or disabling mixed precision also enables or disables clipping, so the two "
    "runs differ by far more than rounding.",
    wrong=_RIGHT.replace(f"        loss.backward()\n{_CLIP}", "        loss.backward()\n"),
    right=_RIGHT,
    check=check,
    hints=("clip", "clamp"),
)
