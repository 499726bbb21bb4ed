"""What clipping limits: which norm, from which bound to which, of which weights."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from crosscast_reading.pysource.libraries.packages import is_of_framework
from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.trainstep.frames.object_kinds import is_gradient, kind_of_maker
from crosscast_reading.trainstep.frames.weight_sources import plain

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.trainstep.frames.frame import CallFrame

_TYPES = ("norm_type", "p", "ord")
_EUCLIDEAN = (2, "fro", "euclidean", None)
OTHER_NORM = "other_norm"
PARTIAL = "partial"
_WRAPPED = frozenset({"module", "model", "_orig_mod", "_layers", "net", "network"})
"""Attributes of wrappers that hold the whole model."""


def kind_of_norm(kind: str, given: ast.expr | None, frame: CallFrame) -> str:
    """Return a kind of clipping by a norm of the type that is given, if any; empty if unknown."""
    if given is None:
        return kind
    match frame.value(given):
        case Known(value=value):
            return kind if value in _EUCLIDEAN else OTHER_NORM
    return ""


def type_argument(call: ast.Call, frame: CallFrame, place: int) -> ast.expr | None:
    """Return the argument that is the type of a norm: that keyword, or what stands at a place."""
    for keyword in call.keywords:
        if keyword.arg in _TYPES:
            return keyword.value
    if len(call.args) > place and not any(isinstance(a, ast.Starred) for a in call.args):
        return call.args[place]
    return None


def type_of_norm(node: ast.AST, frame: CallFrame) -> ast.expr | None:
    """Return the type of a norm that is computed: `inf` of `p.grad.norm(inf)`; None: the usual."""
    match node:
        case ast.BinOp(op=ast.Pow(), right=ast.BinOp(op=ast.Div(), right=inverse)):
            return inverse
        case ast.Call(func=function) if identifier(function) in ("norm", "vector_norm"):
            name = frame.module.resolve(function)
            of_tensor = is_of_framework(name) or name.startswith("numpy.")
            return type_argument(node, frame, 1 if of_tensor else 0)
        case ast.Call(func=function) if identifier(function) == "get_total_norm":
            return type_argument(node, frame, 1)
    return None


def is_symmetric(
    low: ast.expr | None, high: ast.expr | None, value_of: Callable[[ast.expr], Value]
) -> bool:
    """Whether values are limited from a negated number to that number."""
    if low is None or high is None:
        return False
    match value_of(low), value_of(high):
        case Known(value=int() | float() as least), Known(value=int() | float() as most):
            return bool(least == -most)
    match low:
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return ast.dump(inner) == ast.dump(high)
    match high:
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return ast.dump(inner) == ast.dump(low)
    return False


def is_part(node: ast.expr, module: Module) -> bool:
    """Whether what is clipped certainly is some of the weights: `[model.bias]`, `model.bias.grad`.

    A loop or comprehension over the parameters of a model is all of them, unless a condition that
    does not ask for gradients chooses some.
    """
    for here, where in chase(node, module):
        match here:
            case ast.List(elts=[_, *_] as parts) | ast.Tuple(elts=[_, *_] as parts):
                if all(isinstance(_weight(each), ast.Attribute) for each in parts):
                    return True
            case ast.ListComp(generators=[made]) | ast.GeneratorExp(generators=[made]):
                if any(not asks_for_gradient(test) for test in made.ifs):
                    return True
                if is_part(made.iter, where):
                    return True
            case ast.Call(func=ast.Attribute(attr="parameters", value=ast.Attribute() as owner)):
                if _is_inside(where.text(owner), _optimized(where.program)):
                    return True
            case ast.Attribute() if is_gradient(here) or here.attr in ("weight", "bias"):
                weight = _weight(here)
                if isinstance(weight, ast.Attribute):
                    return True
                if isinstance(weight, ast.Name) and weight is not node:
                    return _is_part_of_loop(weight, where)
            case _:
                pass
    return isinstance(node, ast.Name) and _is_part_of_loop(node, module)


@once
def _optimized(program: Program) -> frozenset[str]:
    """Return the models all of whose weights go to an optimizer, as the calls write them."""
    return frozenset(
        call.module.text(given.func.value)
        for module in program.modules
        for call in module.calls
        for given in [*call.node.args[:1], *(keyword.value for keyword in call.node.keywords)]
        if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute)
        if given.func.attr == "parameters" and kind_of_maker(call.name) == "optimizer"
    )


def _is_inside(part: str, models: frozenset[str]) -> bool:
    """Whether a part of a model is named, and not the model within its wrapper: `model.module`."""
    inside = (part.removeprefix(f"{model}.") for model in models if part.startswith(f"{model}."))
    return part not in models and any(name.partition(".")[0] not in _WRAPPED for name in inside)


def _weight(node: ast.expr) -> ast.expr:
    node = plain(node)
    return plain(node.value) if isinstance(node, ast.Attribute) and is_gradient(node) else node


def _is_part_of_loop(node: ast.Name, module: Module) -> bool:
    """Whether a name runs over some weights."""
    return any(
        binding.kind == "loop" and binding.value is not None and is_part(binding.value, module)
        for binding in definitions(node, module)
        if binding.module is module
    )


def asks_for_gradient(test: ast.expr) -> bool:
    """Whether a condition asks whether a weight has a gradient: `p.grad is not None`."""
    return any(
        "grad" in identifier(part)
        for part in ast.walk(test)
        if isinstance(part, ast.Name | ast.Attribute)
    )
