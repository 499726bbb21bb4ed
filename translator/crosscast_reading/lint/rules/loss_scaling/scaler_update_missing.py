"""CL202: the loss scale is never updated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.answers.loop import eager_steps, plain_scaler, scaler_names
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.library_calls import calls_of, plain
from crosscast_reading.sources.connected import modules_of
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_SCALER = re.compile(r"\.(Grad|Amp)Scaler$")
_UPDATES = re.compile(r"scal\w{0,60}(\[\w{1,60}\])?\.update\(|\.minimize\(|\b(grad_)?amp\.update\(")


def check(subject: Subject) -> Iterator[Finding]:
    """Find scalers that step and are never updated in the program."""
    if _never_adjusts(subject.program):
        return
    updating = {module for module in subject.program.modules if _UPDATES.search(module.code)}
    for step in eager_steps(subject):
        if not updating.isdisjoint(modules_of(step)):
            continue
        if step.of("update_scale"):
            continue
        for event in step.of("step"):
            if plain_scaler(event) and scaler_names(event):
                yield Finding(
                    span=event.span,
                    message=f"{event.scaler} steps but is never updated",
                    hint=f"call `{event.scaler}.update()` after the step",
                )
                break


def _never_adjusts(program: Program) -> bool:
    """Whether all scalers have a fixed scale, as Paddle's may: no step needs an update."""
    scalers = [
        call for name, call in calls_of(program) if _SCALER.search(name) and _may_be_on(call)
    ]
    return bool(scalers) and all(
        plain(call.argument("use_dynamic_loss_scaling")) is False for call in scalers
    )


def _may_be_on(call: Call) -> bool:
    return plain(call.argument("enable")) is not False


RULE = Rule("CL202", check, hints=("Scaler",))
