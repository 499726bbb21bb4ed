"""Uses of old names in a module: dotted names that begin at an import of paddle."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from crosscast_paddle.migration.experimental.paddle_names.names import plain
from crosscast_paddle.migration.experimental.paddle_names.row import NameRow
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.scopes import Scope

Dotted = ast.Attribute | ast.Name


@dataclass(frozen=True, slots=True)
class Use:
    """A dotted name in a module that the table may know."""

    node: Dotted
    """The part of the source that the row names."""
    name: str
    """The old qualified name."""
    row: NameRow | None
    """None: the table does not know the name."""
    call: ast.Call | None
    """The call of exactly this name."""


def uses_of(module: Module, rows: Mapping[str, NameRow]) -> Iterator[Use]:
    """Yield each use of a name of `paddle.fluid`, or of another name in the table."""
    for node, whole in whole_names(module):
        part: ast.expr = node
        name = whole
        while isinstance(part, Dotted):
            if row := rows.get(plain(name)):
                yield Use(part, name, row, _call_of(module, part))
                break
            part = part.value if isinstance(part, ast.Attribute) else ast.Constant(None)
            name = name.rpartition(".")[0]
        else:
            if whole.startswith("paddle.fluid"):
                yield Use(node, whole, None, _call_of(module, node))


def whole_names(module: Module) -> Iterator[tuple[Dotted, str]]:
    """Yield each dotted name that begins at an import of paddle, and its qualified name."""
    nodes: list[Dotted] = [*module.every(ast.Attribute), *module.every(ast.Name)]
    for node in nodes:
        if isinstance(module.parent(node), ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        root = root_of(node)
        if root is None or module.imports.get(root.id, "").partition(".")[0] != "paddle":
            continue
        if _is_import(module, root):  # not a parameter or another object of this name
            yield node, _name_of(module, node)


def root_of(node: ast.expr) -> ast.Name | None:
    """Return the first name of a dotted name; None for attributes of other expressions."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _is_import(module: Module, name: ast.Name) -> bool:
    """Whether a name is bound by imports alone, where it is evaluated."""
    scope: Scope | None = module.scope_of(name)
    while scope is not None:
        found = scope.bindings.get(name.id, [])
        if found and not (scope.is_class and scope is not module.scope_of(name)):
            return all(binding.kind == "import" for binding in found)
        scope = scope.parent
    return False


def _name_of(module: Module, node: Dotted) -> str:
    """Return the qualified name by the imports of the file, as written in it."""
    parts: list[str] = []
    here: ast.expr = node
    while isinstance(here, ast.Attribute):
        parts.append(here.attr)
        here = here.value
    assert isinstance(here, ast.Name)
    return ".".join([module.imports[here.id], *reversed(parts)])


def _call_of(module: Module, node: Dotted) -> ast.Call | None:
    parent = module.parent(node)
    return parent if isinstance(parent, ast.Call) and parent.func is node else None
