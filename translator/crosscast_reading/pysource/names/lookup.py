"""Which assignments a name can have its value from."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.reaching_assignments import reaching
from crosscast_reading.pysource.names.star_imports import rebound
from crosscast_reading.pysource.programs.scopes import COMPREHENSIONS, Binding

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module


def bindings_of(name: str, node: ast.AST, module: Module) -> Iterable[Binding]:
    """Return the assignments that a name can have its value from at a node."""
    here = module.scope_of(node)
    scope = here.lookup(name)
    if scope is None:
        return _imported_by_another(module).get(name, ())
    while isinstance(here.node, COMPREHENSIONS) and here is not scope and here.parent:
        here = here.parent  # a comprehension runs where it stands
    use = node if here is scope else None
    bindings = reaching(scope.bindings.get(name, ()), use, module)
    return rebound(bindings, name, use, module) if scope is module.scope else bindings


@lru_cache(maxsize=64)
def _imported_by_another(module: Module) -> dict[str, tuple[Binding, ...]]:
    """Return the names that functions import and the module does not, if they agree.

    `from apex import amp` in one method does not bind `amp` in another: the program fails there.
    What it means is still plain.
    """
    bindings_by_name: dict[str, list[Binding]] = {}
    for scope in module.scopes.values():
        for name, bindings in scope.bindings.items():
            bindings_by_name.setdefault(name, []).extend(bindings)
    return {
        name: tuple(bindings[:1])
        for name, bindings in bindings_by_name.items()
        if all(binding.kind == "import" for binding in bindings)
        and len({binding.target for binding in bindings}) == 1
    }
