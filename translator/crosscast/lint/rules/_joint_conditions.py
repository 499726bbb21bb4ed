"""Whether conditions can be met together, judged by their text."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

from crosscast.pysource.programs.module import Module
from crosscast.pysource.syntax.truth import is_combination, of_combination

Wanted = tuple[ast.expr, bool]
"""A condition and whether it must be met."""
_MOST = 256
"""Most cases that are tried."""


def can_be_met(wanted: Sequence[Wanted], texts: Mapping[str, Sequence[str]]) -> bool:
    """Whether some case meets all conditions: a setting is on or off, or equals one of its texts.

    False where two conditions ask the same setting for different things.

    Args:
        wanted: the conditions.
        texts: for settings that are compared with texts, those that they can be.
    """
    names: dict[str, Sequence[object]] = {}
    parts: dict[str, set[str]] = {}
    for node, _ in wanted:
        for atom in atoms(node):
            side = _side(atom)
            name = side or ast.unparse(atom)
            names[name] = texts.get(side, ()) if side else (True, False)
            parts[name] = _settings(atom)
    shared = any(a < b and parts[a] & parts[b] for a in parts for b in parts)
    if shared or prod(map(len, names.values())) > _MOST:
        return False
    for chosen in product(*names.values()):
        case = dict(zip(names, chosen, strict=True))
        if all(_truth(node, case) is holds for node, holds in wanted):
            return True
    return False


def texts_compared(nodes: Sequence[ast.AST]) -> dict[str, list[str]]:
    """Return, for everything that is compared with texts, all of these texts."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Compare) and _side(node):
            known = found.setdefault(_side(node), [])
            known += [text for text in _others(node) if text not in known]
    return found


def atoms(node: ast.expr) -> list[ast.expr]:
    """Return the conditions that one is made of by `and`, `or` and `not`."""
    if isinstance(node, ast.BoolOp):
        return [atom for part in node.values for atom in atoms(part)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return atoms(node.operand)
    return [node]


def _settings(node: ast.expr) -> set[str]:
    """Return the names and attributes that a condition reads."""
    inside = [each for each in ast.walk(node) if isinstance(each, ast.Name | ast.Attribute)]
    owners = {each.value for each in inside if isinstance(each, ast.Attribute)}
    return {ast.unparse(each) for each in inside if each not in owners}


def _side(node: ast.expr) -> str:
    """Return what is compared with texts: `args.name` of `args.name == "sgd"`."""
    match node:
        case ast.Compare(left=left, ops=[_]) if _others(node):
            return ast.unparse(left)
    return ""


def _others(node: ast.Compare) -> list[str]:
    """Return the texts that one side of a comparison is, or is one of."""
    match node.ops[0], node.comparators[0]:
        case (ast.Eq() | ast.NotEq(), ast.Constant(value=str() as text)):
            return [text]
        case (ast.In() | ast.NotIn(), ast.List(elts=parts) | ast.Tuple(elts=parts)):
            texts = [part.value for part in parts if isinstance(part, ast.Constant)]
            whole = len(texts) == len(parts) and all(isinstance(text, str) for text in texts)
            return [str(text) for text in texts] if whole else []
    return []


def _truth(node: ast.expr, case: Mapping[str, object]) -> bool | None:
    if is_combination(node):
        return of_combination(node, lambda part: _truth(part, case))
    if isinstance(node, ast.Compare) and _side(node):
        inside = case[_side(node)] in _others(node)
        return inside if isinstance(node.ops[0], ast.Eq | ast.In) else not inside
    return bool(case[ast.unparse(node)])


def is_plain(node: ast.expr, module: Module) -> bool:
    """Whether a condition asks settings that nothing assigns and counters of loops alone.

    Another variable may be true only where one of the other conditions is met.
    """
    loops = [each.target for each in module.nodes if isinstance(each, ast.For)]
    counters = {each.id for loop in loops for each in ast.walk(loop) if isinstance(each, ast.Name)}
    owners = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            return False
        if isinstance(each, ast.Attribute):
            owners.add(each.value)
            if not isinstance(each.value, ast.Name) or _is_assigned(each.attr, module):
                return False
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    return all(each in owners or each.id in counters | {"__name__"} for each in names)


def _is_assigned(word: str, module: Module) -> bool:
    return any(
        isinstance(each, ast.Attribute) and each.attr == word and isinstance(each.ctx, ast.Store)
        for each in module.nodes
    )
