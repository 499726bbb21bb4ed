"""CL210: a checkpoint without the state of the loss scaler."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.answers.scalers import scaler_calls, switched_off
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import AMP
from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.sources.subject import Subject

_STATE = re.compile(
    r"scal\w{0,60}(\[\w{1,60}\])?\.state_dict|amp\.state_dict|scaler\.pt|scaler_state"
)
_OPTIMIZER = re.compile(r"opt\w{0,60}\.state_dict\(")
_SCALER = '        "scaler": scaler.state_dict(),\n'
_RIGHT = AMP + (
    "torch.save(\n"
    "    {\n"
    '        "model": model.state_dict(),\n'
    '        "optimizer": optimizer.state_dict(),\n'
    f"{_SCALER}"
    "    },\n"
    '    "checkpoint.pt",\n'
    ")\n"
)


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


RULE = Rule(
    code="CL210",
    name="scaler-not-saved",
    topic="loss scaling",
    severity=Severity.NOTE,
    title="The checkpoint lacks the loss scale",
    why="After a resume, the scale starts again at 65536. Steps are skipped until it has "
    "decreased to its previous value, or small gradients are lost until it has grown again. "
    "The resumed run differs from an uninterrupted one.",
    wrong=_RIGHT.replace(_SCALER, ""),
    right=_RIGHT,
    check=check,
    hints=("Scaler",),
    sources=("PyTorch docs, Saving and loading amp state",),
)
