"""CL208: half-precision weights with a GradScaler."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import AMP, changed
from crosscast.lint.rules._loop import eager_steps, plain_scaler, scaler_names
from crosscast.lint.rules._scalers import scaler_calls, switched_off
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.programs.call import Call
from crosscast.pysource.programs.module import Module
from crosscast.sources.subject import Subject
from crosscast.trainstep.events import TrainingStep

_TYPES = frozenset({"torch.float16", "torch.half"})


def check(subject: Subject) -> Iterator[Finding]:
    """Find models that are cast to float16 and trained with a scaler of PyTorch."""
    program = subject.program
    made = scaler_calls(subject)
    if (
        program is None
        or not made
        or all(switched_off(made_call) is not False for made_call in made)
    ):
        return
    if any("paddle" in name.name or "peft" in name.module.imported for name in made):
        return
    for step in eager_steps(subject):
        applied = [o for o in step.of("step") if plain_scaler(o) and scaler_names(o)]
        if not applied:
            continue
        models = {event.subject for event in step.of("forward") if event.context("no_grad") is None}
        for module in {event.module for event in step.events}:
            for call in module.calls:
                if _halves(call, module, models) and not _conditional(call, module, step):
                    yield Finding(
                        span=module.span(call.node),
                        message=f"the weights are float16, so {applied[0].scaler} would have to "
                        "unscale float16 gradients",
                        hint="keep the weights in float32: autocast chooses the dtype of every "
                        "operation",
                        related=(applied[0].span,),
                    )


def _halves(call: Call, module: Module, models: set[str]) -> bool:
    """Whether it is `model.half()`, `model.to(torch.float16)`, or chained to its creation."""
    node = call.node
    function = node.func
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr == "to":
        given = (*node.args, *(keyword.value for keyword in node.keywords))
        if not any(module.resolve(child) in _TYPES for child in given):
            return False
    elif function.attr != "half" or node.args:
        return False
    inner: ast.expr = function.value
    while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
        if inner.func.attr not in ("cuda", "to", "train"):
            break
        inner = inner.func.value
    if module.text(inner) in models:
        return True
    return isinstance(inner, ast.Call) and bool(models & _targets(node, module))


def _targets(node: ast.Call, module: Module) -> set[str]:
    statement = module.statement_of(node)
    if isinstance(statement, ast.Assign) and statement.value is node:
        return {module.text(target) for target in statement.targets}
    return set()


def _conditional(call: Call, module: Module, step: TrainingStep) -> bool:
    """Whether it may be another program that runs the training: a branch, a function."""
    around = module.enclosing(call.node, ast.If, ast.IfExp, ast.ExceptHandler)
    loop = step.loop.node if step.loop is not None else step.events[0].node
    same = module.function_of(call.node) is module.function_of(loop)
    float_again = any(
        isinstance(other.node.func, ast.Attribute) and other.node.func.attr == "float"
        for other in module.calls
    )
    return around is not None or not same or float_again


RULE = Rule(
    code="CL208",
    name="half-weights-with-scaler",
    topic="loss scaling",
    severity=Severity.ERROR,
    title="Half-precision weights with a GradScaler",
    why="The gradients of float16 weights are float16, and the scaler rejects them: 'Attempting "
    "to unscale FP16 gradients'. Even without this error, float16 weights would lose every "
    "update below about 1/2000 of their size.",
    wrong=changed(AMP, ("Linear(4, 2).cuda()", "Linear(4, 2).cuda().half()")),
    right=AMP,
    check=check,
    hints=("half", "float16"),
    sources=("torch 2.13 amp/grad_scaler.py: ValueError",),
)
