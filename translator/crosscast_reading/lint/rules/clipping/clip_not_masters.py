"""CL308: with apex O2 the half gradients of the model are clipped, not the float32 copies."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import compatible, eager_steps, known_word
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.library_calls import fixed
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find clips of model parameters if the level is certainly O2."""
    calls = [
        call
        for module in subject.program.modules
        for call in module.calls
        if call.name == "apex.amp.initialize"
    ]
    if not calls or any(fixed(call.argument("opt_level")) != "O2" for call in calls):
        return
    for step in eager_steps(subject):
        scaled = [event for event in step.of("backward") if event.context("scale_loss")]
        for clip in step.of("clip"):
            of = str(known_word(clip, "of") or "")
            before = [
                event for event in scaled if event.order < clip.order and compatible(event, clip)
            ]
            if "masters" not in clip.detail and of.endswith(".parameters()") and before:
                yield Finding(
                    span=clip.span,
                    message=f"{of} are the float16 weights, but the optimizer applies the "
                    "gradients of their float32 copies",
                    hint="clip `amp.master_params(optimizer)`",
                    related=(calls[0].module.span(calls[0].node),),
                )


RULE = Rule("CL308", check, hints=("scale_loss",))
