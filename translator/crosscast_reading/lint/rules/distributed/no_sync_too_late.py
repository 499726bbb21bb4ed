"""CL602: no_sync is entered after the forward pass."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import backward_of, compatible, eager_steps, trained_passes
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.distributed._data_parallel import wraps
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find backward passes within no_sync whose forward pass ran outside."""
    if not wraps(subject):
        return
    for step in eager_steps(subject):
        for backward in backward_of(step):
            context = backward.context("no_sync")
            if context is None:
                continue
            forward = [
                event
                for event in trained_passes(step)
                if event.order < backward.order
                and compatible(event, backward)
                and event.subject == context.subject
            ]
            if forward and all(event.context("no_sync") is None for event in forward):
                yield Finding(
                    span=backward.module.owner_of(context.node).span(context.node),
                    message=f"{context.subject} has already run when no_sync is entered, so the "
                    "gradients are still all-reduced",
                    hint="move the forward pass into the block",
                    related=(forward[-1].span,),
                )


RULE = Rule("CL602", check, hints=("no_sync",))
