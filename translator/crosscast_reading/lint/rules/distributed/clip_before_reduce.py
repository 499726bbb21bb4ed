"""CL605: gradients are clipped before they are summed over the processes."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.loop import compatible, eager_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import PLAIN, changed
from crosscast_reading.sources.subject import Subject

_REDUCE = (
    "    for parameter in model.parameters():\n"
    "        torch.distributed.all_reduce(parameter.grad, op=torch.distributed.ReduceOp.AVG)\n"
)
_CLIP = "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
_SEEDED = changed(PLAIN, ("import torch\n\n", "import torch\n\ntorch.manual_seed(0)\n"))
_RIGHT = changed(_SEEDED, (_CLIP, _REDUCE + _CLIP))


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


RULE = Rule(
    code="CL605",
    name="clip-before-all-reduce",
    topic="distributed",
    severity=Severity.WARNING,
    title="Gradients are clipped before the all-reduce",
    why="The update uses the mean of clipped gradients instead of the clipped mean. Its norm "
    "depends on how much the gradients differ between processes, and a run on a single "
    "device clips differently.",
    wrong=changed(_SEEDED, (_CLIP, _CLIP + _REDUCE)),
    right=_RIGHT,
    check=check,
    hints=("all_reduce", "allreduce", "reduce_grad", "average_grad"),
)
