"""Models whose weights are cast to float16."""

from __future__ import annotations

import ast

from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.trainstep.events import TrainingStep

_TYPES = frozenset({"torch.float16", "torch.half"})


@once
def casts_of(module: Module) -> list[Call]:
    """Return the calls that may cast a model."""
    return [call for call in module.calls if call.method in ("half", "to")]


def halves(call: Call, module: Module, models: set[str]) -> bool:
    """Whether it is `model.half()`, `model.to(torch.float16)`, or chained to its creation."""
    match call.node:
        case ast.Call(func=ast.Attribute(value=inner, attr="half"), args=[]):
            pass
        case ast.Call(func=ast.Attribute(value=inner, attr="to"), args=arguments, keywords=named):
            parts = (*arguments, *(each.value for each in named))
            if not any(module.resolve(part) in _TYPES for part in parts):
                return False
        case _:
            return False
    inner = _unchained(inner)
    return module.text(inner) in models or not models.isdisjoint(_targets(call.node, module))


def _unchained(node: ast.expr) -> ast.expr:
    """Return the model of `model.cuda().train()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="cuda" | "to" | "train")):
            return _unchained(inner)
    return node


def _targets(node: ast.Call, module: Module) -> set[str]:
    match module.parent(node):
        case ast.Assign(targets=targets):
            return set(map(module.text, targets))
    return set()


def conditional(call: Call, module: Module, step: TrainingStep) -> bool:
    """Whether it may be another program that runs the training: a branch, a function."""
    around = module.enclosing(call.node, ast.If, ast.IfExp, ast.ExceptHandler)
    loop = step.loop.node if step.loop is not None else step.events[0].node
    same = module.function_of(call.node) is module.function_of(loop)
    float_again = any(module.text(other.node.func).endswith(".float") for other in module.calls)
    return around is not None or not same or float_again
