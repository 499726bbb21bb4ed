"""CL804: a scaler of Paddle without auto_cast, or float16 auto_cast without a scaler."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import changed
from crosscast.lint.rules._keras import function_calls
from crosscast.lint.rules._paddle import (
    AMP,
    casts,
    decorates,
    methods,
    on_cpu,
    program_of,
    scalers,
)
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.programs.call import Call
from crosscast.pysource.programs.program import Program
from crosscast.pysource.values.value import Known
from crosscast.readers.emitted.script import scales_nothing
from crosscast.readers.python.conditions import branches
from crosscast.readers.python.library_calls import calls_of, value_of
from crosscast.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find a scaler without auto_cast, or vice versa."""
    program = program_of(subject)
    if program is None:
        return
    regions, made = casts(program), scalers(program)
    scaled = methods(program, "scale")
    if made and scaled and not _mentions(program, "auto_cast", "amp_guard"):
        if (
            not decorates(program)
            and on_cpu(program) is None
            and not all(_is_handed_in(call) for call in scaled)
        ):
            yield Finding(
                span=scaled[0].module.span(scaled[0].node),
                message="auto_cast is never entered: training runs in float32, and the scaler "
                "disables itself",
                hint="compute the loss within `with paddle.amp.auto_cast():`",
                related=(made[0].module.span(made[0].node),),
            )
        return
    if _mentions(program, "Scaler", "scaler", "loss_scal", "scale_loss"):
        return
    if scales_nothing(program.modules):  # as in its recipe, for which `crosscast check` warns
        return
    yield from _half_by_default(program)
    for call, kind in regions:
        if (
            kind == "float16"
            and not branches(call.node, call.module)
            and "enable" not in call.bound()
        ):
            module = call.module
            function: ast.AST = module.function_of(call.node) or module.tree
            names = {inner.method for inner in function_calls(function, module)}
            if "backward" in names and ("step" in names or "minimize" in names):
                yield Finding(
                    span=module.span(call.node),
                    message="the forward pass runs in float16, but the loss is not scaled",
                    hint='use paddle.amp.GradScaler, or auto_cast(dtype="bfloat16"), which does '
                    "not need one",
                )
                return


def _half_by_default(program: Program) -> Iterator[Finding]:
    """Find programs that train with float16 as the default type of all weights."""
    trains = {call.method for _, call in calls_of(program)} >= {"backward"}
    for name, call in calls_of(program) if trains else ():
        value = value_of(next(iter(call.node.args), None), call.module)
        half = isinstance(value, Known) and value.value == "float16" and not value.flag
        named = name.endswith(".set_default_dtype") and name.startswith("paddle.")
        if named and half and not branches(call.node, call.module):
            yield Finding(
                span=call.module.span(call.node),
                message="the model is made and trained in float16, but the loss is not scaled",
                hint="keep float32 as the default type, and use auto_cast with a GradScaler",
            )


def _is_handed_in(call: Call) -> bool:
    """Whether the scaled loss is a parameter: another file may compute it within auto_cast."""
    function = call.module.function_of(call.node)
    loss = call.node.args[0] if call.node.args else None
    if function is None or not isinstance(loss, ast.Name):
        return False
    arguments = function.args
    names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    return loss.id in names


def _mentions(program: Program, *words: str) -> bool:
    return any(word in module.source.text for module in program.modules for word in words)


RULE = Rule(
    code="CL804",
    name="paddle-scaler-alone",
    topic="paddle",
    severity=Severity.WARNING,
    title="Paddle: GradScaler without auto_cast, or float16 without GradScaler",
    why="Always use both. Without auto_cast nothing runs in half precision, and `scale()` "
    "disables the scaler; without a scaler, small gradients become 0 in float16.",
    wrong=changed(
        AMP,
        (
            "    with paddle.amp.auto_cast():\n"
            "        loss = paddle.nn.functional.mse_loss(model(inputs), targets)\n",
            "    loss = paddle.nn.functional.mse_loss(model(inputs), targets)\n",
        ),
    ),
    right=AMP,
    check=check,
    hints=("GradScaler", "auto_cast", "set_default_dtype"),
    sources=("Paddle 3.3.1, paddle/amp/grad_scaler.py and auto_cast.py",),
)
