"""Loss scalers whose creation is not in the given files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crosscast.readers.python.conditions import conditions_of
from crosscast.readers.python.decisions import Decision, decide
from crosscast.trainstep.steps.search import training_steps

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.program import Program

_SWITCHES = ("use_amp", "amp", "fp16", "use_fp16", "mixed_precision", "use_mixed_precision")
"""Arguments that pass a switch on."""


def of_helper(call: Call, program: Program) -> Decision:
    """Return who decides if only a scaler wrapper is created: the origin of a switch passed on."""
    found = decide(conditions_of(call), None, call.module)
    if found.who != "always":
        return found
    for module in program.modules:
        for other in module.calls:
            for keyword in other.node.keywords:
                if keyword.arg in _SWITCHES and program.function(other) is None:
                    switched = decide((), keyword.value, module)
                    if switched.who in ("flag", "config"):
                        return switched
    return found


def given_scalers(program: Program) -> tuple[Span, ...]:
    """Return the places where a step uses a scaler from a parameter."""
    found = []
    for step in training_steps(program):
        for event in step.of("backward", "step", "update_scale"):
            name = event.scaler.partition(".")[0].partition("[")[0]
            if event.library == "timm" and event.kind == "update_scale":
                name = event.subject
            elif not name or event.library not in ("", "torch"):
                continue
            function = event.module.function_of(event.node)
            while function is not None:
                arguments = function.args
                every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
                if any(keyword.arg == name for keyword in every) and name != "self":
                    found.append(event.span)
                function = event.module.function_of(function)
    return tuple(dict.fromkeys(found))
