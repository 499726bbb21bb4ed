"""CL206: float16 without any loss scale."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._autocast import dtype_of, is_on
from crosscast.lint.rules._examples import AMP, PLAIN, changed
from crosscast.lint.rules._loop import backward_of, eager_steps, uses_scaler
from crosscast.lint.rules._scalers import idle_scalers
from crosscast.messages.diagnostics import Severity
from crosscast.readers.emitted.script import scales_nothing
from crosscast.sources.subject import Subject
from crosscast.trainstep.events import Context, TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find float16 autocast around the forward pass of a program without any scaler.

    An emitted script has none because of its recipe, for which `crosscast check` warns.
    """
    program = subject.program
    if program is None or scales_nothing(program.modules):
        return
    if uses_scaler(subject) and not idle_scalers(subject):
        return
    for step in eager_steps(subject):
        backward = backward_of(step) or list(step.of("backward"))
        if any(event.scaler or event.library not in ("",) for event in backward):
            continue
        context = _half(step)
        if context is not None and step.of("step"):
            yield Finding(
                span=step.module.owner_of(context.node).span(context.node),
                message="the forward pass runs in float16, but the loss is not scaled",
                hint="use a GradScaler, or bfloat16, which does not need one",
                related=(backward[0].span,),
            )


def _half(step: TrainingStep) -> Context | None:
    for event in step.of("forward"):
        if event.context("no_grad") is not None:
            continue
        context = event.context("autocast")
        if context is None or context.guards or not is_on(context):
            continue
        if dtype_of(context) == "float16":
            return context
    return None


RULE = Rule(
    code="CL206",
    name="loss-scale-missing",
    topic="loss scaling",
    severity=Severity.WARNING,
    title="float16 without a loss scale",
    why="float16 has no numbers between 0 and 6e-8, and low precision below 6e-5. Without a loss "
    "scale, small gradients, often most of them, are lost in the backward pass, and training "
    "stalls or ends with a worse result.",
    wrong=changed(
        PLAIN,
        (
            "    loss = criterion(model(inputs), targets)\n",
            '    with torch.autocast("cuda", dtype=torch.float16):\n'
            "        loss = criterion(model(inputs), targets)\n",
        ),
    ),
    right=AMP,
    check=check,
    hints=("autocast", "auto_cast"),
    sources=("PyTorch docs, Automatic Mixed Precision package, Gradient scaling",),
)
