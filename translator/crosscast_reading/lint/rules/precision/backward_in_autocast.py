"""CL401: the backward pass or the update runs within autocast."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.autocast import is_on
from crosscast_reading.lint.answers.loop import eager_steps
from crosscast_reading.lint.rule import Finding, Rule
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


RULE = Rule("CL401", check, hints=("autocast", "auto_cast"))
