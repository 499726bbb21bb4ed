"""CL709: the loss is scaled but the gradients are not unscaled, or vice versa."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.readers.python.module_words import function_calls
from crosscast_reading.readers.python.value_flow import flow_of
from crosscast_reading.sources.subject import Subject

_PAIR = {"get_scaled_loss": "get_unscaled_gradients", "get_unscaled_gradients": "get_scaled_loss"}


def check(subject: Subject) -> Iterator[Finding]:
    """Find functions that compute and apply gradients and call only one of the two methods."""
    program = subject.program
    for _name, call in calls_of(program):
        other = _PAIR.get(call.method)
        if other is None or call.receiver is None or _mentions(program, other):
            continue
        if not _whole(call):
            continue
        if call.method == "get_scaled_loss":
            message = "the gradients are applied while they are multiplied by the loss scale"
            hint = "call optimizer.get_unscaled_gradients(gradients) before they are used"
        else:
            message = "the gradients are divided by a loss scale that the loss was never given"
            hint = "compute the gradients of optimizer.get_scaled_loss(loss)"
        yield Finding(span=call.module.span(call.node), message=message, hint=hint)
    yield from _lost(program)


def _lost(program: Program) -> Iterator[Finding]:
    """Find results of the two methods that the gradients do not go through."""
    for _name, call in calls_of(program):
        if call.method not in _PAIR or call.receiver is None or not _whole(call):
            continue
        if not _mentions(program, _PAIR[call.method]):
            continue  # found above
        scaled = call.method == "get_scaled_loss"
        user = "gradient" if scaled else "apply_gradients"
        module = call.module
        function: ast.AST = module.function_of(call.node) or module.tree
        users = [c for c in function_calls(function, module) if c.method == user]
        given = [argument for c in users for argument in _first(c)]
        if not given or any(_goes_through(argument, call.method, module) for argument in given):
            continue
        if not scaled and not any(_goes_through(a, "gradient", module) for a in given):
            continue  # a sum, to which they are added
        yield Finding(
            span=module.span(call.node),
            message="the scaled loss is not the one that is differentiated"
            if scaled
            else "the unscaled gradients are not the ones that are applied",
            hint="differentiate what get_scaled_loss returns"
            if scaled
            else "apply what get_unscaled_gradients returns",
            related=tuple(c.module.span(c.node) for c in users[:1]),
        )


def _first(call: Call) -> list[ast.expr]:
    """Return the loss of `tape.gradient`, the gradients of `apply_gradients`."""
    named = [k.value for k in call.node.keywords if k.arg in ("target", "grads_and_vars")]
    return named or call.node.args[:1]


def _goes_through(argument: ast.expr, method: str, module: Module) -> bool:
    """Whether a value is computed from what a method returns."""
    return any(
        isinstance(part, ast.Call) and identifier(part.func) == method
        for part, _ in flow_of(argument, module)
    )


def _mentions(program: Program, word: str) -> bool:
    return any(word in module.code for module in program.modules)


def _whole(call: Call) -> bool:
    """Whether the function computes gradients and applies them itself."""
    module = call.module
    function: ast.AST = module.function_of(call.node) or module.tree
    methods = {inner.method for inner in function_calls(function, module)}
    return "gradient" in methods and "apply_gradients" in methods


RULE = Rule("CL709", check, hints=("get_scaled_loss", "get_unscaled_gradients"))
