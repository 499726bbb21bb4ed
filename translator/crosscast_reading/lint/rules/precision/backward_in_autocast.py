"""CL401: the backward pass or the update runs within autocast."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.autocast import is_on
from crosscast_reading.lint.answers.loop import eager_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import AMP, changed
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find backward passes and steps within an autocast context."""
    for step in eager_steps(subject):
        for event in step.of("backward", "step"):
            context = event.context("autocast")
            if context is not None and is_on(context) and "functional" not in event.detail:
                action = "the backward pass" if event.kind == "backward" else "the update"
                yield Finding(
                    span=event.span,
                    message=f"{action} runs within autocast",
                    hint="end the block after the loss is computed",
                    related=(event.module.owner_of(context.node).span(context.node),),
                )
                break


RULE = Rule(
    code="CL401",
    name="backward-in-autocast",
    topic="precision",
    severity=Severity.NOTE,
    title="The backward pass runs within autocast",
    why="The backward pass uses the dtypes of the forward pass anyway. Within the block, custom "
    "backward functions and the arithmetic of the optimizer may also be cast to half "
    "precision. PyTorch advises against it.",
    wrong=changed(
        AMP, ("    scaler.scale(loss).backward()\n", "        scaler.scale(loss).backward()\n")
    ),
    right=AMP,
    check=check,
    hints=("autocast", "auto_cast"),
    sources=("PyTorch docs, torch.autocast: Backward passes under autocast are not recommended",),
)
