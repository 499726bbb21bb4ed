"""Moving averages of the weights that a program computes itself.

`average.lerp_(weight, 0.01)`, `average.mul_(d).add_(weight, alpha=1 - d)`,
`a = d * a + (1 - d) * w` and their like in every framework. What makes it an average *of weights*
is where the other operand comes from: an element of `model.parameters()`, `state_dict()`,
`trainable_variables`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.programs.scopes import COMPREHENSIONS
from crosscast_reading.pysource.syntax.nodes import identifier, keyword
from crosscast_reading.trainstep.frames.weight_sources import (
    is_gradient_like,
    is_no_weight,
    is_weight,
    owner_of,
    plain,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module


@dataclass(frozen=True, slots=True)
class WeightAverage:
    """One update of an average; `decay` and `share` as they are written, else None."""

    target: ast.expr
    """What holds the average."""
    decay: ast.expr | None = None
    """How much of the average stays."""
    share: ast.expr | None = None
    """How much of the weights comes in."""


_Is = Callable[[ast.expr], bool]


@dataclass(frozen=True, slots=True)
class _Roles:
    """Which expressions stand for the average and which for the weights."""

    average: _Is
    weight: _Is
    certain: _Is
    """Which are weights whatever is done with them; others are weights if they are averaged."""


_MULTIPLIES = frozenset({"mul_", "scale_", "multiply_", "_foreach_mul_"})
_ADDS = frozenset({"add_", "assign_add", "_foreach_add_"})
_SUBTRACTS = frozenset({"sub_", "assign_sub", "subtract_"})
_SETS = frozenset({"copy_", "assign", "set_value", "set_weights", "load_state_dict"})
_LERPS = frozenset({"lerp_", "lerp", "_foreach_lerp_"})
_MAPS = frozenset({"tree_map", "tree_multimap", "map_structure", "map"})
_METHODS = _ADDS | _SUBTRACTS | _SETS | _LERPS


def average_of(node: ast.stmt, module: Module) -> WeightAverage | None:
    """Return the average of weights that a statement updates; None if it updates none.

    `decay` and `share` are None if weights are mixed into something in a way that was not read.
    """
    average: WeightAverage | None = None
    match node:
        case ast.Expr(value=ast.Call() as call) if identifier(call.func) in _METHODS:
            average = _called(call, node, module)
        case ast.Assign(targets=[target], value=value):
            average = _set(target, value, module)
        case ast.AugAssign(target=target, op=ast.Add() | ast.Sub(), value=value):
            before = _multiplied_before(node, target, module)
            average = _added(target, value, None, before, isinstance(node.op, ast.Sub), module)
    return None if average is None or is_gradient_like(average.target, module) else average


def _called(call: ast.Call, node: ast.stmt, module: Module) -> WeightAverage | None:
    name, given = identifier(call.func), list(call.args)
    method = isinstance(call.func, ast.Attribute) and not name.startswith("_foreach_")
    if method and name == "assign" and len(given) == 2:
        return _set(given[1], given[0], module)  # paddle.assign(value, output)
    if method and isinstance(call.func, ast.Attribute):
        given.insert(0, call.func.value)
    if len(given) < 2:
        return None
    target, value = given[0], given[1]
    if name in _LERPS:
        share = given[2] if len(given) > 2 else keyword(call, "weight")
        roles = _roles(target, module)
        return WeightAverage(target, share=share) if roles.weight(value) else None
    if name in _SETS:
        return _set(target, value, module)
    inner = target
    before = None
    if isinstance(inner, ast.Call) and identifier(inner.func) in _MULTIPLIES and inner.args:
        assert isinstance(inner.func, ast.Attribute)
        target, before = inner.func.value, inner.args[0]
    else:
        before = _multiplied_before(node, target, module)
    alpha = keyword(call, "alpha") or (given[2] if len(given) > 2 else None)
    return _added(target, value, alpha, before, name in _SUBTRACTS, module)


def _set(target: ast.expr, value: ast.expr, module: Module) -> WeightAverage | None:
    """`a = d * a + (1 - d) * w`, also as an element of a list, dictionary or tree."""
    value = plain(value)
    roles = _roles(target, module)
    if isinstance(value, COMPREHENSIONS):
        value, roles = _element(target, value, module)
    elif isinstance(value, ast.Call) and identifier(value.func) in _MAPS:
        mapped = _mapped(target, value, module)
        if mapped is None:
            return None
        value, roles = mapped
    if isinstance(value, ast.Call) and identifier(value.func) in _LERPS and len(value.args) > 2:
        first, second, share = value.args[:3]
        is_mix = roles.average(first) and roles.weight(second)
        return WeightAverage(target, share=share) if is_mix else None
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add | ast.Sub):
        return None
    return _mixed(target, value, roles)


def _mixed(target: ast.expr, value: ast.BinOp, roles: _Roles) -> WeightAverage | None:
    left, right = plain(value.left), plain(value.right)
    minus = isinstance(value.op, ast.Sub)
    if roles.average(left):  # a + s * (w - a)
        return _difference(target, right, None, minus, roles)
    if roles.average(right) and not minus:
        return _difference(target, left, None, False, roles)
    for kept, new in ((left, right), (right, left)):
        decay, share = _factor(kept, roles.average), _factor(new, roles.weight)
        if decay is not None and share is not None and not minus:
            return WeightAverage(target, decay, share)
    parts = list(_terms(value))
    if any(map(roles.average, parts)) and any(map(roles.weight, parts)):
        return WeightAverage(target)
    return None


def _terms(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the operands a sum or product is computed from, arguments of functions left out."""
    node = plain(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        yield from _terms(node.left)
        yield from _terms(node.right)
    else:
        yield node


def _added(
    target: ast.expr,
    value: ast.expr,
    alpha: ast.expr | None,
    before: ast.expr | None,
    minus: bool,
    module: Module,
) -> WeightAverage | None:
    """`a.mul_(d).add_(w, alpha=s)`, `a.add_(w - a, alpha=s)`, `a -= s * (a - w)`."""
    roles = _roles(target, module)
    value = plain(value)
    if before is None:
        return _difference(target, value, alpha, minus, roles)
    if roles.weight(value) and alpha is not None:
        return WeightAverage(target, before, alpha)
    share = _factor(value, roles.weight)
    if share is not None:
        return WeightAverage(target, before, share)
    return WeightAverage(target) if roles.weight(value) else None


def _difference(
    target: ast.expr, value: ast.expr, alpha: ast.expr | None, minus: bool, roles: _Roles
) -> WeightAverage | None:
    """What is added to an average: `s * (w - a)`; without the average in it, it is a sum."""

    def moves(node: ast.expr) -> bool:
        match plain(node):
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                to, off = (right, left) if minus else (left, right)
                return roles.weight(to) and roles.average(off)
        return False

    if moves(value):
        return WeightAverage(target, share=alpha)
    share = _factor(value, moves)
    if share is not None and alpha is None:
        return WeightAverage(target, share=share)
    return WeightAverage(target) if any(map(roles.certain, _terms(value))) else None


def _factor(node: ast.expr, wanted: _Is) -> ast.expr | None:
    """Return the factor that an expression is multiplied by: `d` of `d * average`."""
    match plain(node):
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            if wanted(right):
                return left
            return right if wanted(left) else None
    return None


def _multiplied_before(node: ast.stmt, target: ast.expr, module: Module) -> ast.expr | None:
    """Return the factor of `a.mul_(d)` or `a *= d` in the statement before `a.add_(…)`."""
    previous = _previous(node, module)
    text = module.text(plain(target))
    multiplied: ast.expr
    match previous:
        case ast.AugAssign(target=augmented, op=ast.Mult(), value=factor):
            multiplied = augmented
        case ast.Expr(value=ast.Call(func=function, args=[*first, factor])) if (
            identifier(function) in _MULTIPLIES and len(first) < 2
        ):
            assert isinstance(function, ast.Attribute | ast.Name)
            multiplied = first[0] if first else getattr(function, "value", function)
        case _:
            return None
    return factor if module.text(plain(multiplied)) == text else None


def _previous(node: ast.stmt, module: Module) -> ast.stmt | None:
    around = module.parents.get(node)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(around, name, None)
        if isinstance(block, list) and node in block:
            place = block.index(node)
            return block[place - 1] if place else None
    return None


# ---- which operand is which


def _roles(target: ast.expr, module: Module) -> _Roles:
    text = module.text(plain(target))

    def average(node: ast.expr) -> bool:
        return module.text(plain(node)) == text

    def weight(node: ast.expr) -> bool:
        return not average(node) and is_weight(node, module)

    return _Roles(average, weight, weight)


def _element(target: ast.expr, value: ast.expr, module: Module) -> tuple[ast.expr, _Roles]:
    """Return the term a comprehension computes of each weight; the average is known by its name."""
    assert isinstance(value, COMPREHENSIONS)
    element = value.value if isinstance(value, ast.DictComp) else value.elt
    name = module.text(target)

    def average(node: ast.expr) -> bool:
        owner = owner_of(node, module)
        return bool(owner) and (owner == name or owner.startswith(f"{name}."))

    def weight(node: ast.expr) -> bool:
        return not average(node) and is_weight(node, module)

    return plain(element), _Roles(average, weight, weight)


def _mapped(target: ast.expr, value: ast.Call, module: Module) -> tuple[ast.expr, _Roles] | None:
    """Return the term that `tree_map(lambda a, w: …, average, weights)` computes of each weight."""
    match value.args:
        case [ast.Lambda(args=ast.arguments(args=[*names]), body=body), *trees]:
            pass
        case _:
            return None
    given = dict(zip((each.arg for each in names), trees, strict=False))
    text = module.text(target)

    def average(node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and _text_of(given, node, module) == text

    def weight(node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Name)
            and node.id in given
            and not average(node)
            and not is_gradient_like(node, module)
            and not is_no_weight(given[node.id], module)
        )

    def certain(node: ast.expr) -> bool:
        return weight(node) and isinstance(node, ast.Name) and is_weight(given[node.id], module)

    return plain(body), _Roles(average, weight, certain)


def _text_of(given: Mapping[str, ast.expr], node: ast.Name, module: Module) -> str:
    return module.text(given[node.id]) if node.id in given else ""


def decay_of_function(node: ast.Lambda, module: Module) -> ast.expr | None:
    """Return the decay of `lambda average, weight, count: 0.9 * average + 0.1 * weight`."""
    names = [each.arg for each in node.args.args]
    body = plain(node.body)
    if len(names) < 2 or not isinstance(body, ast.BinOp):
        return None

    def named(name: str) -> _Is:
        return lambda inner: isinstance(plain(inner), ast.Name) and module.text(inner) == name

    weight = named(names[1])
    average = _mixed(body, body, _Roles(named(names[0]), weight, weight))
    return average.decay if average is not None else None
