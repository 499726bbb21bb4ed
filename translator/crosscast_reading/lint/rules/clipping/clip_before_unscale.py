"""CL301: gradients are clipped while they are multiplied by the loss scale."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.clipping._clips import (
    clips_in_scale_loss,
    clips_of_accelerate,
    clips_of_engines,
    scaled_clips,
    sometimes_scaled,
    unscale_edit,
)
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find norms that are clipped before `unscale_`."""
    for clip, applied in scaled_clips(subject, by_value=False):
        scaler, optimizer = applied.scaler, applied.subject or "optimizer"
        yield Finding(
            span=clip.span,
            message=f"the gradients are still multiplied by the loss scale of {scaler} when they "
            "are clipped",
            hint=f"call `{scaler}.unscale_({optimizer})` before clipping",
            related=(applied.span,),
            edits=unscale_edit(clip, applied),
        )
    for clip, backward in clips_in_scale_loss(subject, by_value=False):
        yield Finding(
            span=clip.span,
            message="the gradients are still multiplied by the loss scale when they are clipped: "
            "they are unscaled at the end of the scale_loss block",
            hint="clip after the block",
            related=(backward.span,),
        )
    for clip, unscaled, condition in sometimes_scaled(subject):
        yield Finding(
            span=clip.span,
            message="the gradients are still multiplied by the loss scale when they are clipped "
            f"without {condition}",
            hint="unscale the gradients whenever they are clipped",
            related=(unscaled.span,),
        )
    for clip, backward, certain in clips_of_accelerate(subject, by_value=False):
        yield Finding(
            span=clip.span,
            message="the gradients are still multiplied by the loss scale when they are clipped"
            + ("" if certain else ", if Accelerate is configured for float16"),
            hint="call `accelerator.clip_grad_norm_`, which unscales them",
            related=(backward.span,),
            severity=Severity.ERROR if certain else Severity.WARNING,
        )
    for clip, applied in clips_of_engines(subject):
        yield Finding(
            span=clip.span,
            message="DeepSpeed keeps the gradients and divides them by the loss scale in its step: "
            "here they are still multiplied by it, or already gone",
            hint="set `gradient_clipping` in DeepSpeed's configuration instead",
            related=(applied.span,),
            severity=Severity.WARNING,  # without ZeRO and half precision it clips
        )


RULE = Rule("CL301", check, hints=("clip", "clamp"))
