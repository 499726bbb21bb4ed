"""CL210: a checkpoint without the state of the loss scaler."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.scalers import scaler_calls, switched_off
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.sources.subject import Subject

_STATE = re.compile(
    r"scal\w{0,60}(\[\w{1,60}\])?\.state_dict|amp\.state_dict|scaler\.pt|scaler_state"
)
_OPTIMIZER = re.compile(r"opt\w{0,60}\.state_dict\(")


def check(subject: Subject) -> Iterator[Finding]:
    """Find checkpoints with the optimizer in programs that never save the scaler."""
    program = subject.program
    scalers = scaler_calls(subject)
    if not scalers or all(switched_off(made_call) is True for made_call in scalers):
        return
    if any(_STATE.search(imported.code) for imported in program.modules) or not subject.steps:
        return
    for module in program.modules:
        for call in module.calls:
            if not has_role(call.name, "saves") or not call.node.args:
                continue
            saved = call.node.args[0]
            if isinstance(saved, ast.Dict) and _OPTIMIZER.search(module.text(saved)):
                yield Finding(
                    span=module.span(call.node),
                    message="the checkpoint contains the optimizer but not the loss scale",
                    hint="also save and load `scaler.state_dict()`",
                    related=(scalers[0].module.span(scalers[0].node),),
                )
                return


RULE = Rule("CL210", check, hints=("Scaler",))
