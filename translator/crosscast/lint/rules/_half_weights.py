"""Models whose weights are cast to float16."""

from __future__ import annotations

import ast

from crosscast.pysource.programs.call import Call
from crosscast.pysource.programs.module import Module
from crosscast.trainstep.events import TrainingStep

_TYPES = frozenset({"torch.float16", "torch.half"})


def halves(call: Call, module: Module, models: set[str]) -> bool:
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


def conditional(call: Call, module: Module, step: TrainingStep) -> bool:
    """Whether it may be another program that runs the training: a branch, a function."""
    around = module.enclosing(call.node, ast.If, ast.IfExp, ast.ExceptHandler)
    loop = step.loop.node if step.loop is not None else step.events[0].node
    same = module.function_of(call.node) is module.function_of(loop)
    float_again = any(
        isinstance(other.node.func, ast.Attribute) and other.node.func.attr == "float"
        for other in module.calls
    )
    return around is not None or not same or float_again
