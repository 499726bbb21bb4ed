"""CL803: the loss is scaled before the first auto_cast."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_paddle.answers.amp import casts, line, methods, scalers
from crosscast_reading.lint.rule import Finding, Rule
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


RULE = Rule("CL803", check, hints=("GradScaler",))
