"""CL807: ClipGradByNorm, which clips every tensor separately."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_paddle.answers.amp import AMP
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.readers.python.library_calls import calls_of, last
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find clips by the norm of each tensor that are passed to a call."""
    program = subject.program
    for name, call in calls_of(program):
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


_CLIPPED = "AdamW(1e-3, parameters=model.parameters(), grad_clip=paddle.nn.{}(1.0))"
_PLAIN = "AdamW(1e-3, parameters=model.parameters())"

RULE = Rule(
    code="CL807",
    name="paddle-clip-per-tensor",
    topic="paddle",
    severity=Severity.NOTE,
    title="ClipGradByNorm clips every tensor separately",
    why="`ClipGradByGlobalNorm` clips by the norm of all gradients together, as usual. "
    "`ClipGradByNorm` scales each tensor by its own norm, which changes the direction of the "
    "update.",
    wrong=changed(AMP, (_PLAIN, _CLIPPED.format("ClipGradByNorm"))),
    right=changed(AMP, (_PLAIN, _CLIPPED.format("ClipGradByGlobalNorm"))),
    check=check,
    hints=("ClipGradByNorm", "GradientClipByNorm"),
    sources=("Paddle 3.3.1, paddle.nn.ClipGradByNorm",),
)
