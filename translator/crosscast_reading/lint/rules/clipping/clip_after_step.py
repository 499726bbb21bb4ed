"""CL307: gradients are clipped after they are applied."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import backward_of, compatible, eager_steps, implies
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find clips after the only step of an iteration."""
    for step in eager_steps(subject):
        applied, backward = step.inside("step"), backward_of(step)
        if len({event.subject for event in applied}) != 1 or not backward:
            continue
        if "weight" in step.module.source.text and "critic" in step.module.source.text:
            continue  # weights are clipped, not gradients
        for clip in step.inside("clip"):
            before = [
                event for event in applied if event.order < clip.order and compatible(event, clip)
            ]
            after = [
                event
                for event in step.inside("step", "backward", "accumulate")
                if event.order > clip.order
            ]
            others = [event for event in step.inside("clip") if event.order < clip.order]
            if not before or after or others or not implies(clip, before[-1], windows=True):
                continue
            if any(event.order < before[-1].order for event in backward):
                yield Finding(
                    span=clip.span,
                    message=f"{before[-1].subject} applies the gradients before they are clipped",
                    hint="clip between backward and step",
                    related=(before[-1].span,),
                )


RULE = Rule("CL307", check, hints=("clip", "clamp"))
