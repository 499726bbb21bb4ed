"""CL803: the loss is scaled before the first auto_cast."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_paddle.answers.amp import AMP, casts, line, methods, scalers
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find `scale` before every auto_cast of its function."""
    program = subject.program
    if not scalers(program):
        return
    mine = [call for call, _ in casts(program)]
    homes = {(region.module, region.module.function_of(region.node)) for region in mine}
    for call in methods(program, "scale"):
        module = call.module
        if homes != {(module, module.function_of(call.node))}:
            continue
        if all(line(call.node, module) < line(region.node, module) for region in mine):
            yield Finding(
                span=module.span(call.node),
                message="the loss is scaled before the first auto_cast: the scaler disables itself "
                "permanently",
                hint="enter paddle.amp.auto_cast before the first `scale`",
                related=(module.span(mine[0].node),),
            )


_REGION = """\
    with paddle.amp.auto_cast():
        loss = paddle.nn.functional.mse_loss(model(inputs), targets)
    scaled = scaler.scale(loss)
"""

RULE = Rule(
    code="CL803",
    name="paddle-scale-first",
    topic="paddle",
    severity=Severity.WARNING,
    title="Paddle: the loss is scaled before the first auto_cast",
    why="The dtype of the process is float32 until the first auto_cast. If `scale()` is called "
    "before that, the GradScaler disables itself permanently, and float16 training runs "
    "without loss scaling. Measured with Paddle 3.3.1.",
    wrong=changed(
        AMP,
        (
            _REGION,
            "    scaled = scaler.scale(paddle.nn.functional.mse_loss(model(inputs), targets))\n"
            "    with paddle.amp.auto_cast():\n"
            "        show(model(inputs))\n",
        ),
    ),
    right=AMP,
    check=check,
    hints=("GradScaler",),
    sources=("Paddle 3.3.1, paddle/amp/grad_scaler.py",),
)
