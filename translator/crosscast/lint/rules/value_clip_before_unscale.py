"""CL302: single gradients are clipped while they are multiplied by the loss scale."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._clips import clips_in_scale_loss, scaled_clips, unscale_edit
from crosscast.lint.rules._examples import AMP, changed
from crosscast.messages.diagnostics import Severity
from crosscast.sources.subject import Subject

_RIGHT = changed(AMP, ("clip_grad_norm_", "clip_grad_value_"))


def check(subject: Subject) -> Iterator[Finding]:
    """Find values that are clipped before `unscale_`."""
    for clip, applied in scaled_clips(subject, by_value=True):
        scaler, optimizer = applied.scaler, applied.subject or "optimizer"
        yield Finding(
            span=clip.span,
            message="every gradient is still multiplied by the loss scale of "
            f"{scaler} when it is cut off",
            hint=f"call `{scaler}.unscale_({optimizer})` right before",
            related=(applied.span,),
            edits=unscale_edit(clip, applied),
        )
    for clip, backward in clips_in_scale_loss(subject, by_value=True):
        yield Finding(
            span=clip.span,
            message="every gradient is still multiplied by the loss scale when it is cut off: the "
            "scale is taken out where the block of scale_loss ends",
            hint="clip behind the block",
            related=(backward.span,),
        )


RULE = Rule(
    code="CL302",
    name="value-clip-before-unscale",
    topic="clipping",
    severity=Severity.ERROR,
    title="Values of scaled gradients are clipped",
    why="With a scale of 65536 a limit of 0.5 cuts every gradient off at 0.0000076: what is left "
    "is little more than its sign. Infinities become finite, so no overflow is ever noticed.",
    wrong=changed(_RIGHT, ("    scaler.unscale_(optimizer)\n", "")),
    right=_RIGHT,
    check=check,
    hints=("clip", "clamp"),
    fixable=True,
    sources=("PyTorch docs, Automatic Mixed Precision examples, Gradient clipping",),
)
