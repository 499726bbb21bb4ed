"""Bounds that a program sets to the loss scale of a library's scaler.

`scaler.update(max(scaler.get_scale(), 1.0))`, `scaler._scale.clamp_(min=1.0)` and
`if scaler.get_scale() < 1.0: scaler.update(1.0)` have a lowest scale, which the scalers of PyTorch,
Paddle and Keras 3 do not have. Any other value that a program sets makes the lowest one unknown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Confidence, Fact
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.pysource.values.value import Known, Unknown
from crosscast_reading.readers.fact_builder import fact_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

Bounds = list[tuple[str, ast.expr]]
_LOWEST, _HIGHEST = "loss_scaling.min_scale", "loss_scaling.max_scale"
_SCALER = re.compile(r"scaler", re.I)
_BASE = re.compile(r"GradScaler|AmpScaler")
_GETTERS = ("get_scale", "get_loss_scaling", "get_init_loss_scaling", "_get_scale_async")
_CHOOSING = {"max": _LOWEST, "maximum": _LOWEST, "min": _HIGHEST, "minimum": _HIGHEST}
_CLAMPING = ("clamp", "clip", "clip_by_value")
_ONE_SIDED = {"clamp_min": _LOWEST, "clamp_max": _HIGHEST}
_SIDES = {
    **dict.fromkeys(("min", "a_min", "clip_value_min"), _LOWEST),
    **dict.fromkeys(("max", "a_max", "clip_value_max"), _HIGHEST),
}


def own_bounds(program: Program, reader: str) -> Iterator[Fact]:
    """Yield the bounds that a program sets itself, and that the lowest one is unknown."""
    for module in program.modules:
        for node, scale in _set(module):
            if not module.is_dead(node):
                yield from _facts(node, scale, module, reader)


def _facts(node: ast.AST, scale: ast.expr, module: Module, reader: str) -> Iterator[Fact]:
    """Yield the facts about the bounds of a scale that a statement or call sets."""
    place, condition = module.span(node), _condition(node, module)
    if condition is not None and (bounds := _guarded(condition, scale, module)):
        condition = _condition(condition, module)
    else:
        bounds = _bounds(scale, module)
    if bounds is None:
        value = Unknown(module.text(node), "the program sets the scale itself")
        yield fact_of(_LOWEST, value, place, reader=reader, confidence="likely")
        return
    sure: Confidence = "certain" if condition is None else "likely"
    for path, limit in bounds:
        known = evaluate(limit, module.owner_of(limit))
        if known != Known(None):
            yield fact_of(path, known, place, reader=reader, confidence=sure)


def _set(module: Module) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Yield where a module sets the scale of a scaler, with the new scale."""
    for call in module.calls:
        if (scale := _new_scale(call)) is not None:
            yield call.node, scale
    for statement in module.every(ast.Assign):
        for target in statement.targets:
            if _is_kept_scale(target, module):
                yield statement, statement.value


def _new_scale(call: Call) -> ast.expr | None:
    """Return the scale that a call sets, if it sets one."""
    module, receiver = call.module, call.receiver
    if receiver is None:
        return None
    given = [*call.node.args, *(k.value for k in call.node.keywords)]
    if _is_kept_scale(receiver, module):
        return call.node if call.method.endswith("_") else None
    if len(given) != 1:
        return None
    if call.method == "update":
        return given[0] if _is_scaler(receiver, module) and not _hands_on(call) else None
    if call.method == "set_init_loss_scaling":  # before the loop it is the first scale
        return given[0] if module.enclosing(call.node, ast.For, ast.While) else None
    owned = isinstance(receiver, ast.Attribute) and receiver.attr == "dynamic_scale"
    return given[0] if call.method == "assign" and owned else None


def _is_kept_scale(node: ast.expr, module: Module) -> bool:
    """Whether an expression is the attribute in which a scaler keeps its scale."""
    if not isinstance(node, ast.Attribute) or node.attr != "_scale":
        return False
    return _is_scaler(node.value, module)


def _is_scaler(node: ast.expr, module: Module) -> bool:
    """Whether an expression is a scaler, or `self` or `super()` in a class derived from one."""
    text = module.text(node)
    if text not in ("self", "super()"):
        return bool(_SCALER.search(text))
    bases = getattr(module.class_of(node), "bases", [])
    return any(_BASE.search(module.text(base)) for base in bases)


def _hands_on(call: Call) -> bool:
    """Whether a method `update` passes its own argument on."""
    match call.module.function_of(call.node), call.node.args:
        case ast.FunctionDef(name="update", args=arguments), [given, *_]:
            return identifier(given) in {argument.arg for argument in arguments.args}
    return False


def _bounds(node: ast.expr, module: Module, hops: int = 4) -> Bounds | None:
    """Return the bounds that an expression gives to the scale it is made of; None: no such one."""
    if _is_scale(node):
        return []
    if isinstance(node, ast.Name) and hops:
        bindings = definitions(node, module)
        value = bindings[0].value if len(bindings) == 1 and not bindings[0].path else None
        return None if value is None else _bounds(value, bindings[0].module, hops - 1)
    if not isinstance(node, ast.Call):
        return None
    name = identifier(node.func).rstrip("_")
    operands = list(node.args)
    if isinstance(node.func, ast.Attribute) and _is_scale(node.func.value):
        operands.insert(0, node.func.value)
    if not operands:
        return None
    sides: Bounds = []
    if name in _CHOOSING:
        operands.sort(key=lambda operand: _bounds(operand, module, hops) is None)
        sides = [(_CHOOSING[name], operand) for operand in operands[1:]]
    elif name in _ONE_SIDED:
        sides = [(_ONE_SIDED[name], operand) for operand in operands[1:]]
    elif name in _CLAMPING:
        sides = list(zip((_LOWEST, _HIGHEST), operands[1:], strict=False))
        sides += [(_SIDES[k.arg], k.value) for k in node.keywords if k.arg in _SIDES]
    inner = _bounds(operands[0], module, hops) if sides else None
    return None if inner is None else [*inner, *sides]


def _is_scale(node: ast.expr) -> bool:
    """Whether an expression is the present scale: `scaler.get_scale()`, `scaler._scale`."""
    if isinstance(node, ast.Call):
        return not node.args and identifier(node.func) in _GETTERS
    return isinstance(node, ast.Attribute) and node.attr in ("_scale", "dynamic_scale")


def _condition(node: ast.AST, module: Module) -> ast.If | None:
    """Return the innermost `if` around a node, in the same function."""
    statement = module.enclosing(node, ast.If, ast.FunctionDef, ast.AsyncFunctionDef)
    return statement if isinstance(statement, ast.If) else None


def _guarded(condition: ast.If, scale: ast.expr, module: Module) -> Bounds | None:
    """Return the bound of `if scale < lowest: scaler.update(lowest)`."""
    path = {ast.Lt: _LOWEST, ast.LtE: _LOWEST, ast.Gt: _HIGHEST, ast.GtE: _HIGHEST}
    match condition:
        case ast.If(test=ast.Compare(left=left, ops=[how], comparators=[right]), orelse=[]):
            match evaluate(right, module), evaluate(scale, module.owner_of(scale)):
                case Known(value=limit), Known(value=now) if limit == now:
                    side = path.get(type(how))
                    if side is not None and _bounds(left, module) == []:
                        return [(side, scale)]
    return None
