"""What an optimizer is given: all parameters of a model, or something else."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import chase

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module


def are_all_parameters(node: ast.expr, module: Module) -> bool:
    """Whether an argument is all parameters of models, without groups.

    `model.parameters()`, those of them that are trained (`filter(lambda p: p.requires_grad, ...)`),
    and those of several models one after the other.
    """
    return _all_of(node, module.owner_of(node), 0)


def _all_of(node: ast.expr, module: Module, depth: int) -> bool:
    if depth > _MOST_HOPS:
        return False
    match node:
        case ast.Call(func=ast.Attribute(attr="parameters" | "trainable_parameters")):
            return True
        case ast.Call(func=ast.Attribute(attr="get_parameters")):
            return False
        case ast.Call(func=function, args=[*_, last_one]) if _last_of(function) in _SAME:
            given = node.args if _last_of(function) == "chain" else [last_one]
            return all(_all_of(argument, module, depth + 1) for argument in given)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _all_of(left, module, depth + 1) and _all_of(right, module, depth + 1)
        case ast.ListComp(elt=elt, generators=[one]) | ast.GeneratorExp(elt=elt, generators=[one]):
            name = module.text(one.target)
            chosen = {module.text(elt), *map(module.text, one.ifs)}
            return chosen <= {name, f"{name}.requires_grad"} and _all_of(
                one.iter, module, depth + 1
            )
        case ast.Name():
            places = [place for place in chase(node, module) if place[0] is not node]
            values = [place for place in places if not isinstance(place[0], ast.Name)]
            return bool(values) and all(_all_of(n, m, depth + 1) for n, m in values)
    return False


_SAME = frozenset({"list", "filter", "chain", "iter", "tuple"})
_MOST_HOPS = 6


def _last_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
