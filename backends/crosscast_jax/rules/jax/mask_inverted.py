"""CL023: a mask that decays what it should spare."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.readers.python.library_calls import calls_of, last
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_DECAYING = frozenset({"adamw", "nadamw", "lamb", "lion", "add_decayed_weights", "lars"})
_SPARED = re.compile(r"^(bias|scale|gamma|beta|layer_?norm\w*|norm\w*|b)$", re.I)


def check(subject: Subject) -> Iterator[Finding]:
    """Find masks that are true for biases only."""
    masked = [
        (name, call, mask)
        for name, call in calls_of(subject.program)
        if name.startswith("optax.") and last(name) in _DECAYING
        if (mask := call.bound().get("mask") or call.bound().get("weight_decay_mask")) is not None
    ]
    if len(masked) > 1:  # biases may have a decay of their own
        return
    for name, call, mask in masked:
        for node, module in _functions(mask, call.module):
            test = next(_picks(node), None)
            if test is not None:
                yield Finding(
                    span=module.span(test),
                    message=f"`{module.text(test)}` is true for what should be spared, but true "
                    f"means decay in {last(name)}: only these weights decay",
                    hint="turn it round: true means decay",
                    related=(call.module.span(call.node),),
                )


def _functions(mask: ast.expr, module: Module) -> Iterator[tuple[ast.AST, Module]]:
    """Yield the functions that a mask is, or the expressions that make it."""
    for node, where in chase(mask, module):
        if isinstance(node, ast.Lambda | ast.Call | ast.Dict | ast.DictComp):
            yield node, where
        elif isinstance(node, ast.Name | ast.Attribute):
            defined = where.program.function_named(where.resolve(node))
            if defined is not None:
                yield defined[1], defined[0]
                return


_MAKERS = frozenset({"unflatten_dict", "tree_map_with_path", "map_with_path", "path_aware_map"})
"""What makes a mask of values, or of a function of paths."""


def _values(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the values that a mask holds, of what it is as a whole."""
    match node:
        case ast.Lambda(body=body):
            yield from _values(body)
        case ast.FunctionDef(body=statements):
            for statement in statements:
                if isinstance(statement, ast.Return) and statement.value is not None:
                    yield from _values(statement.value)
        case ast.DictComp(value=value):
            yield value
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in _MAKERS:
            for argument in node.args:
                if isinstance(argument, ast.Lambda | ast.DictComp):
                    yield from _values(argument)
        case ast.Compare():
            yield node


def _picks(node: ast.AST) -> Iterator[ast.expr]:
    """Yield tests that are a value of the mask as they stand: `path[-1] == "bias"`."""
    values = [*_values(node)]
    for value in values:
        match value:
            case ast.Compare(ops=[ast.Eq() | ast.In()], left=left, comparators=[right]):
                words = [n.value for n in ast.walk(right) if isinstance(n, ast.Constant)]
                words += [left.value] if isinstance(left, ast.Constant) else []
                if words and all(isinstance(w, str) and _SPARED.match(w) for w in words):
                    yield value


RULE = Rule("CL023", check, hints=("mask",))
