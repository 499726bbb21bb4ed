"""Where names are looked up, and what they can mean: the words and the question."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crosscast.pysource.names.reaching_assignments import reaching
from crosscast.pysource.syntax.scopes import Binding, Scope

if TYPE_CHECKING:
    from crosscast.pysource.module import Module

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Meaning:
    """One thing that an expression can be."""

    name: str
    kind: Literal["symbol", "instance", "member", "module"] = "symbol"
    """member: an attribute of an instance that no file given defines, as a method of a library."""
    call: ast.Call | None = None
    """Of an instance: the call that made it."""
    module: Module | None = None
    """Module of `call` or of the partial's call."""
    partial: tuple[ast.Call, ...] = ()
    """`functools.partial(...)` calls around a symbol, innermost first."""


def scope_of(node: ast.AST, module: Module) -> Scope:
    """Return the scope in which a node is evaluated."""
    before: ast.AST | None = None
    child, here = node, module.parents.get(node)
    while here is not None:
        scope = module.scopes.get(here)
        if scope is not None and _evaluated_within(scope, child, before):
            return scope
        before, child, here = child, here, module.parents.get(here)
    return module.scope


def _evaluated_within(scope: Scope, child: ast.AST, before: ast.AST | None) -> bool:
    node = scope.node
    if isinstance(node, ast.Module):
        return True
    if isinstance(node, ast.Lambda):
        return child is node.body
    if isinstance(node, _COMPREHENSIONS):
        first = node.generators[0]
        return not (child is first and before is first.iter)
    return isinstance(child, ast.stmt)


def bindings_of(name: str, node: ast.AST, module: Module) -> Iterable[Binding]:
    """Return the assignments that a name can have its value from at a node."""
    here = scope_of(node, module)
    scope = here.lookup(name)
    if scope is None:
        return ()
    while isinstance(here.node, _COMPREHENSIONS) and here is not scope and here.parent:
        here = here.parent  # a comprehension runs where it stands
    return reaching(scope.bindings.get(name, ()), node if here is scope else None, module)


def meanings_of(node: ast.expr, module: Module) -> tuple[Meaning, ...]:
    """Return everything that an expression can be, in the order of the text."""
    program = module.program
    return program.meanings.get(node, module) if program is not None else ()
