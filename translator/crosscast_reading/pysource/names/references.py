"""References of a variable: what binds it, what reads it, and which read may see which binding."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.programs.scopes import COMPREHENSIONS, Binding, Scope
from crosscast_reading.pysource.syntax.nodes import walk

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_BY_TEXT = frozenset({"locals", "globals", "eval", "exec"})
"""Functions that reach variables by the texts of their names; `vars` does without an argument."""


@dataclass(frozen=True, slots=True)
class References:
    """The references of one variable in its module, in the order of the text."""

    name: str
    scope: Scope
    """Where the variable lives."""
    reads: Sequence[ast.Name]
    """What uses a value of it, in its scope and in those within."""

    @property
    def bindings(self) -> Sequence[Binding]:
        """What gives it a value."""
        return self.scope.bindings[self.name]

    def bound_by(self, statement: ast.AST) -> Binding | None:
        """Return the binding that a statement is."""
        return next((each for each in self.bindings if each.node is statement), None)

    def bound_after(self, node: ast.AST) -> list[Binding]:
        """Return the bindings on lines that follow a node."""
        end = getattr(node, "end_lineno", None) or 0
        return [each for each in self.bindings if getattr(each.node, "lineno", 0) > end]

    def reads_of(self, binding: Binding) -> list[ast.Name]:
        """Return the reads that may see the value of a binding, in later rounds of a loop too.

        Those of another scope may: a function runs at any time.
        """
        return [read for read in self.reads if self._may_see(read, binding)]

    def _may_see(self, read: ast.Name, binding: Binding) -> bool:
        if not (self._is_own(self.scope.module.scope_of(read)) and self._is_own(binding.scope)):
            return True
        return binding in bindings_of(self.name, read, self.scope.module)

    @property
    def is_shared(self) -> bool:
        """Whether a function or class within the scope, or a lambda, reads or binds it."""
        places = [self.scope.module.scope_of(read) for read in self.reads]
        return not all(map(self._is_own, [*places, *(each.scope for each in self.bindings)]))

    def _is_own(self, place: Scope) -> bool:
        """Whether a scope is that of the variable; a comprehension runs where it stands."""
        while place is not self.scope and isinstance(place.node, COMPREHENSIONS) and place.parent:
            place = place.parent
        return place is self.scope

    @property
    def is_open(self) -> bool:
        """Whether its scope may read or bind names by their texts: `locals()["x"]`."""
        return any(map(_finds_by_text, walk(self.scope.node)))

    @property
    def is_handed_on(self) -> bool:
        """Whether another module of the program may read it."""
        module = self.scope.module
        return self.scope is module.scope and any(
            _names(node, self.name)
            for each in module.program.modules
            if each is not module
            for node in each.nodes
        )


def references(name: str, place: ast.AST, module: Module) -> References | None:
    """Return the references of the variable that a name means at a place; None if nothing binds it.

    Args:
        name: the name.
        place: a node in the scope that uses it.
        module: of the node.
    """
    scope = module.scope_of(place).lookup(name)
    if scope is None or name not in scope.bindings:
        return None
    named = _reads_by_name(module).get(name, ())
    reads = [each for each in named if module.scope_of(each).lookup(name) is scope]
    return References(name, scope, reads)


def is_read(name: ast.Name, module: Module) -> bool:
    """Whether a name stands for its value, if only to change it: the first of `x += y`."""
    return isinstance(name.ctx, ast.Load) or isinstance(module.parent(name), ast.AugAssign)


@once
def _reads_by_name(module: Module) -> dict[str, list[ast.Name]]:
    reads: dict[str, list[ast.Name]] = {}
    for node in sorted(module.every(ast.Name), key=lambda each: (each.lineno, each.col_offset)):
        if is_read(node, module):
            reads.setdefault(node.id, []).append(node)
    return reads


def _finds_by_text(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="vars"), args=[]):
            return True
        case ast.Name(id=name):
            return name in _BY_TEXT
    return False


def _names(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Attribute(attr=attribute):
            return attribute == name
        case ast.ImportFrom(names=names):
            return any(each.name in (name, "*") for each in names)
    return False
