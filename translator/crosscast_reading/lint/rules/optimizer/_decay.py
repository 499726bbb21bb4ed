"""Groups of parameters with and without weight decay."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.syntax.truth import is_met, negated
from crosscast_reading.readers.python.library_calls import fixed

_EXCLUDED = re.compile(r"no_?_?(weight_)?decay|no_wd|not_decay|skip_(weight_)?decay|exclude", re.I)
EXAMPLE = """\
import torch

model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.LayerNorm(2)).cuda()
no_decay = ["bias", "LayerNorm.weight"]
named = list(model.named_parameters())
groups = [
    {"params": [p for n, p in named if not any(w in n for w in no_decay)], "weight_decay": 0.01},
    {"params": [p for n, p in named if any(w in n for w in no_decay)], "weight_decay": 0.0},
]
optimizer = torch.optim.AdamW(groups, lr=1e-4)
for inputs, targets in loader:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(inputs), targets).backward()
    optimizer.step()
"""


@dataclass(frozen=True, slots=True)
class Group:
    """One group of parameters."""

    node: ast.Dict
    excluded: bool
    """Whether it has the parameters named in a list without decay."""
    none: bool
    """Whether it certainly has no decay."""


def decay_groups(node: ast.List, module: Module) -> list[Group]:
    """Return the groups of this kind in a list."""
    groups: list[Group] = []
    for elt in node.elts:
        if not isinstance(elt, ast.Dict):
            continue
        parts = {
            key.value: value
            for key, value in zip(elt.keys, elt.values, strict=True)
            if isinstance(key, ast.Constant)
        }
        params, decay = parts.get("params"), parts.get("weight_decay")
        if not isinstance(params, ast.ListComp | ast.GeneratorExp) or decay is None:
            continue
        named = _takes_listed(params)
        if named is None:
            continue
        value = evaluate(decay, module)
        none = fixed(value) == 0
        groups.append(Group(elt, named, none))
    return groups


def _takes_listed(node: ast.ListComp | ast.GeneratorExp) -> bool | None:
    """Whether the parameters are those named in the list without decay; None if unclear."""
    tests = [test for part in node.generators for test in part.ifs]
    for test in tests:
        for value in test.values if isinstance(test, ast.BoolOp) else [test]:
            text = ast.unparse(value)
            if not _EXCLUDED.search(text):
                continue
            match value:
                case ast.UnaryOp(op=ast.Not()) | ast.Compare(ops=[ast.NotIn()]):
                    return False
                case ast.Call() | ast.Compare():
                    return True
    return None


_NEGATED = re.compile(r"\bnot\b")
_NORMS = re.compile(r"norm|bias|b_0|_b\b|\.b\b", re.I)


def names_excluded(node: ast.expr, module: Module) -> bool | None:
    """Return whether a predicate on names is true for biases and norms; None if unclear."""
    if isinstance(node, ast.Lambda):
        return _of_test(node.body, module)
    definition = module.program.function_named(module.resolve(node))
    if definition is None:
        return None
    home, function = definition
    for child in walk(function):
        match child:
            case ast.If(test=test, body=[ast.Return(value=ast.Constant(value=bool(answer)))]):
                listed = [ast.unparse(n) for n in walk(function) if isinstance(n, ast.List)]
                about = " ".join([ast.unparse(test), *listed])
                return None if _NEGATED.search(about) or not _NORMS.search(about) else answer
    match home.scopes[function].returns:
        case [ast.Return(value=ast.expr() as value)]:
            return _of_test(value, home)
    return None


def _of_test(node: ast.expr, module: Module) -> bool | None:
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return negated(_of_test(inner, module))
        case ast.Compare(ops=[ast.In() | ast.NotIn() as op], comparators=[names]):
            match _comprehension(names, module):
                case [ast.comprehension(ifs=[test])]:
                    return is_met(_of_test(test, module), isinstance(op, ast.In))
        case ast.BoolOp(op=ast.And(), values=parts):
            known = {answer for part in parts if (answer := _of_test(part, module)) is not None}
            return known.pop() if len(known) == 1 else None
        case ast.Call(func=ast.Name(id="any")):
            return True if _NORMS.search(_spelled(node, module)) else None
    return None


def _comprehension(node: ast.expr, module: Module) -> Sequence[ast.comprehension]:
    """Return the loops of the list of names that stands there, or that the name alone has."""
    match node:
        case ast.ListComp(generators=loops) | ast.SetComp(generators=loops):
            return loops
        case ast.Name():
            match definitions(node, module):
                case [Binding(assigned=ast.expr() as value)]:
                    return _comprehension(value, module)
    return ()


def _spelled(node: ast.Call, module: Module) -> str:
    """Return a call with names of lists replaced by their values."""
    parts = [ast.unparse(node)]
    for child in walk(node):
        if isinstance(child, ast.Name):
            home = module.scope_of(child).lookup(child.id)
            for binding in home.bindings.get(child.id, ()) if home is not None else ():
                if isinstance(binding.value, ast.List | ast.Tuple):
                    parts.append(ast.unparse(binding.value))
    return " ".join(parts)
