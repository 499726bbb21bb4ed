"""CL807: ClipGradByNorm, which clips every tensor separately."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.library_calls import calls_of, last
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find clips by the norm of each tensor that are passed to a call."""
    for name, call in calls_of(subject.program):
        if last(name) not in ("ClipGradByNorm", "GradientClipByNorm"):
            continue
        if not name.startswith("paddle.") or isinstance(call.module.parent(call.node), ast.Expr):
            continue
        yield Finding(
            span=call.module.span(call.node),
            message=f"{last(name)} limits the norm of every tensor separately, which changes the "
            "direction of the update",
            hint="to clip by the norm of all gradients together, as PyTorch's clip_grad_norm_ "
            "does, use ClipGradByGlobalNorm",
        )


RULE = Rule("CL807", check, hints=("ClipGradByNorm", "GradientClipByNorm"))
