"""Sources of an expression: the assignments, arguments and functions behind it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.conditions import branches

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module

_MOST_LINES = 70
_DEPTH = 7
_NOT_FOLLOWED = frozenset(
    {
        *("model", "models", "net", "args", "flags", "config", "cfg", "params", "self", "strategy"),
        *("dataset", "data", "features", "labels", "loss", "loader", "reader", "hparams", "opt"),
    }
)


@dataclass
class ExpressionSources:
    """Expressions and functions of the program behind an expression, nearest first."""

    places: list[tuple[ast.AST, Module]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All source text, nearest first."""
        return "\n".join(self.texts)


def sources_of(node: ast.expr, module: Module) -> ExpressionSources:
    """Return the sources of an expression, as far as the given files show them."""
    sources = ExpressionSources()
    seen: set[ast.AST] = set()
    queue: list[tuple[ast.AST, Module, int]] = [(node, module, 0)]
    while queue:
        here, where, depth = queue.pop(0)
        where = where.owner_of(here)
        if here in seen:
            continue
        seen.add(here)
        if _is_long(here):
            sources.texts.append(getattr(here, "name", ""))
            continue
        sources.places.append((here, where))
        sources.texts.append(_code(here, where))
        nodes = list(walk(here))
        sources.calls += [where.call(inner) for inner in nodes if isinstance(inner, ast.Call)]
        if depth < _DEPTH:
            for inner in nodes:
                queue += [(n, m, depth + 1) for n, m in _behind(inner, where)]
    return sources


def _is_long(node: ast.AST) -> bool:
    """Whether a node is a long function or class."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return (node.end_lineno or 0) - node.lineno > _MOST_LINES


def _code(node: ast.AST, module: Module) -> str:
    """Return the source of a node without its docstring."""
    text = module.text(node)
    match getattr(node, "body", None):
        case [ast.Expr(value=ast.Constant(value=str())) as docstring, *_]:
            return text.replace(module.text(docstring), "")
    return text


def _behind(node: ast.AST, module: Module) -> list[tuple[ast.AST, Module]]:
    places: list[tuple[ast.AST, Module]] = []
    if isinstance(node, ast.Call):
        call = module.call(node)
        function = module.program.function(call)
        if function is not None:
            return [(function[1], function[0])]
        owners = map(module.program.class_named, call.names)
        return [(owner.node, owner.module) for owner in owners if owner is not None]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        if node.id.lower() in _NOT_FOLLOWED:
            return []
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if node.value.id != "self" or node.attr.lower().strip("_") in _NOT_FOLLOWED:
            return []
    else:
        return []
    for binding in definitions(node, module):
        match binding:
            case Binding(kind="assign" | "augment", value=ast.expr() as value):
                around = branches(value, binding.module, callers=False)
                if all(c.default is not False or not _chooses(c.node) for c in around):
                    places.append((value, binding.module))
            case Binding(kind="function" | "class"):
                places.append((binding.node, binding.module))
            case Binding(kind="parameter", node=ast.arg()):
                places += module.program.arguments_for(binding)
    return places


def _chooses(node: ast.expr) -> bool:
    """Whether a condition picks one of several by name: `args.scheduler == "noam"`."""
    match node:
        case ast.Compare(comparators=[ast.Constant(value=str())]):
            return True
    return False
