"""CL605: gradients are clipped before they are summed over the processes."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import compatible, eager_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find a manual all-reduce between clipping and the step."""
    for step in eager_steps(subject):
        for reduced in step.inside("all_reduce"):
            clips = [
                event
                for event in step.inside("clip")
                if event.order < reduced.order and compatible(event, reduced)
            ]
            later = [event for event in step.inside("clip") if event.order > reduced.order]
            applied = [event for event in step.inside("step") if event.order > reduced.order]
            between = [
                event
                for event in step.inside("backward", "step")
                if clips and clips[-1].order < event.order < reduced.order
            ]
            if clips and applied and not later and not between:
                yield Finding(
                    span=clips[-1].span,
                    message="each process clips its own gradients before they are summed",
                    hint="all-reduce first, then clip",
                    related=(reduced.span,),
                )
                break


RULE = Rule("CL605", check, hints=("all_reduce", "allreduce", "reduce_grad", "average_grad"))
