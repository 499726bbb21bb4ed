"""Loss scalers whose creation is not in the given files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.libraries.packages import KNOWN, package_of_name
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Instance
from crosscast_reading.readers.python.conditions import Condition, conditions_of
from crosscast_reading.readers.python.decisions import Decision, decide
from crosscast_reading.trainstep.steps.search import training_steps

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Binding

_HALF = re.compile(r"autocast|float16|fp16|bf16|\bhalf\b|apex|set_default_dtype", re.I)
_WRAPPERS = ("torch.nn.parallel.", "torch.nn.DataParallel", "torch.compile")
_SWITCHES = ("use_amp", "amp", "fp16", "use_fp16", "mixed_precision", "use_mixed_precision")
"""Arguments that pass a switch on."""


def of_helper(call: Call, program: Program) -> Decision:
    """Return who decides if only a scaler wrapper is created: the origin of a switch passed on."""
    decision = decide(conditions_of(call), None, call.module)
    if decision.who != "always":
        return decision
    for module in program.modules:
        for other in module.calls:
            for keyword in other.node.keywords:
                if keyword.arg in _SWITCHES and program.function(other) is None:
                    switched = decide((), keyword.value, module)
                    if switched.who in ("flag", "config"):
                        return switched
    return decision


def given_scalers(program: Program) -> tuple[Span, ...]:
    """Return the places where a step uses a scaler from a parameter."""
    places = []
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
                    places.append(event.span)
                function = event.module.function_of(function)
    return tuple(dict.fromkeys(places))


def returned_scalers(program: Program) -> tuple[Span, ...]:
    """Return the places where a loss is scaled by what a function of another file returned."""
    places = []
    for step in training_steps(program):
        for event in step.of("backward"):
            match event.node:
                case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Attribute(value=scaler)))):
                    made = definitions(scaler, event.module) if event.scaler else ()
                    if made and all(_is_unseen(binding, program) for binding in made):
                        places.append(event.span)
    return tuple(dict.fromkeys(places))


def _is_unseen(binding: Binding, program: Program) -> bool:
    match binding.value:
        case ast.Call() as made:
            call = binding.module.call(made)
            known = package_of_name(call.name) in KNOWN
            return bool(call.name) and not known and program.function(call) is None
    return False


def scaled_under(program: Program) -> Decision | None:
    """Return who decides whether losses are scaled, in a loop that has passes of both kinds."""
    for step in training_steps(program):
        passes = step.of("backward")
        scaled = [event for event in passes if event.scaler]
        if not scaled or len(scaled) == len(passes):
            continue
        event = scaled[0]
        tests = [Condition(guard.node, guard.holds, event.module) for guard in event.guards]
        decision = decide(tests, None, event.module)
        if decision.who != "always":
            return decision
    return None


def runs_in_full(program: Program) -> bool:
    """Whether all models that training steps run are seen, and nothing names a half precision."""
    if any(_HALF.search(word) for module in program.modules for word in _words(module)):
        return False
    passes = [event for step in training_steps(program) for event in step.inside("forward")]
    return bool(passes) and all(
        isinstance(event.node, ast.Call) and _is_seen(event.node.func, event.module)
        for event in passes
    )


def _words(module: Module) -> Iterator[str]:
    """Yield names and texts of a module; comments and docstrings are not among them."""
    for node in module.nodes:
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.alias(name=word):
                yield word
            case ast.Constant(value=str(word)) if not isinstance(module.parent(node), ast.Expr):
                yield word


def _is_seen(model: ast.expr, module: Module) -> bool:
    """Whether a model is of the program or a layer of the library, also wrapped."""
    match evaluate(model, module):
        case Instance(made_by=name, call=Call() as call) if name.startswith(_WRAPPERS):
            return bool(call.node.args) and _is_seen(call.node.args[0], call.module)
        case Instance(made_by=name):
            return ":" in name or name.startswith("torch.nn.")
    return False
