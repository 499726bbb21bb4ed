"""CL302: gradients are clipped by value while they are multiplied by the loss scale."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.clipping._clips import (
    clips_in_scale_loss,
    clips_of_accelerate,
    scaled_clips,
    unscale_edit,
)
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find values that are clipped before `unscale_`."""
    for clip, applied in scaled_clips(subject, by_value=True):
        scaler, optimizer = applied.scaler, applied.subject or "optimizer"
        yield Finding(
            span=clip.span,
            message=f"the gradients are still multiplied by the loss scale of {scaler} when they "
            "are clipped by value",
            hint=f"call `{scaler}.unscale_({optimizer})` before clipping",
            related=(applied.span,),
            edits=unscale_edit(clip, applied),
        )
    for clip, backward in clips_in_scale_loss(subject, by_value=True):
        yield Finding(
            span=clip.span,
            message="the gradients are still multiplied by the loss scale when they are clipped by "
            "value: they are unscaled at the end of the scale_loss block",
            hint="clip after the block",
            related=(backward.span,),
        )
    for clip, backward, certain in clips_of_accelerate(subject, by_value=True):
        yield Finding(
            span=clip.span,
            message="the gradients are still multiplied by the loss scale when they are clipped by "
            "value" + ("" if certain else ", if Accelerate is configured for float16"),
            hint="call `accelerator.clip_grad_value_`, which unscales them",
            related=(backward.span,),
            severity=Severity.ERROR if certain else Severity.WARNING,
        )


RULE = Rule("CL302", check, hints=("clip", "clamp"))
