"""Which assignments a name can have its value from."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from crosscast.pysource.names.reaching_assignments import reaching
from crosscast.pysource.programs.scopes import COMPREHENSIONS, Binding

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Module


def bindings_of(name: str, node: ast.AST, module: Module) -> Iterable[Binding]:
    """Return the assignments that a name can have its value from at a node."""
    here = module.scope_of(node)
    scope = here.lookup(name)
    if scope is None:
        return ()
    while isinstance(here.node, COMPREHENSIONS) and here is not scope and here.parent:
        here = here.parent  # a comprehension runs where it stands
    return reaching(scope.bindings.get(name, ()), node if here is scope else None, module)
