"""CL802: a scaler of Paddle that disables itself."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_paddle.answers.amp import casts, methods, on_cpu, scalers
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.sources.connected import connected
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find scalers on the CPU, and with regions of both bfloat16 and float16."""
    program = subject.program
    if not methods(program, "scale"):
        return
    made = scalers(program)
    if not made:
        return
    cpu = on_cpu(program)
    if cpu is not None:
        yield Finding(
            span=made[0].module.span(made[0].node),
            message="on a CPU, Paddle's GradScaler silently disables itself",
            hint="remove it, or train on a GPU",
            related=(cpu.module.span(cpu.node),),
        )
        return
    regions = casts(program)
    half = [call for call, kind in regions if kind == "float16"]
    for brain in (call for call, kind in regions if kind == "bfloat16"):
        near = connected(brain.module)
        scaler = next((call for call in made if call.module in near), None)
        if scaler is None or not any(call.module in near for call in half):
            continue
        yield Finding(
            span=brain.module.span(brain.node),
            message="auto_cast to bfloat16 permanently disables the scaler of the float16 "
            "training: bfloat16 remains the dtype of the process when the region ends",
            hint="use the same dtype everywhere",
            related=(scaler.module.span(scaler.node),),
        )
        return


RULE = Rule("CL802", check, hints=("GradScaler",))
