"""CL709: the loss is scaled but the gradients are not unscaled, or vice versa."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import changed
from crosscast.lint.rules._keras import LOOP, function_calls, program_of
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.programs.call import Call
from crosscast.pysource.programs.program import Program
from crosscast.readers.python.library_calls import calls_of
from crosscast.sources.subject import Subject

_PAIR = {"get_scaled_loss": "get_unscaled_gradients", "get_unscaled_gradients": "get_scaled_loss"}


def check(subject: Subject) -> Iterator[Finding]:
    """Find functions that compute and apply gradients and call only one of the two methods."""
    program = program_of(subject)
    if program is None:
        return
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


def _mentions(program: Program, word: str) -> bool:
    return any(word in module.source.text for module in program.modules)


def _whole(call: Call) -> bool:
    """Whether the function computes gradients and applies them itself."""
    module = call.module
    function: ast.AST = module.function_of(call.node) or module.tree
    methods = {inner.method for inner in function_calls(function, module)}
    return "gradient" in methods and "apply_gradients" in methods


RULE = Rule(
    code="CL709",
    name="keras-half-scaled",
    topic="keras",
    severity=Severity.ERROR,
    title="get_scaled_loss without get_unscaled_gradients",
    why="Always use both. With only one of them, every update is 32768 times too large or too "
    "small. Adam hides most of the effect; clipping, weight decay and epsilon do not.",
    wrong=changed(LOOP, ("    gradients = optimizer.get_unscaled_gradients(gradients)\n", "")),
    right=LOOP,
    check=check,
    hints=("get_scaled_loss", "get_unscaled_gradients"),
    sources=("TensorFlow 2.4 to 2.15, tf.keras.mixed_precision.LossScaleOptimizer",),
)
