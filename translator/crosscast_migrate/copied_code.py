"""Classes of a source with all that they need of it, as code without its framework."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Span
from crosscast_migrate.models.installed import scripts
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.edits.text_edits import apply_edits
from crosscast_reading.pysource.libraries.packages import OWN, is_of_framework

if TYPE_CHECKING:
    from crosscast_reading.edits.edit import Edit
    from crosscast_reading.pysource.programs.module import Module


class ForeignError(Exception):
    """Code that needs its framework, or that is not certain."""

    def __init__(self, reason: str, span: Span | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span


@dataclass(frozen=True, slots=True)
class Copied:
    """Imports and definitions, in the order that they must have."""

    imports: tuple[str, ...]
    definitions: tuple[str, ...]


def copied(classes: Sequence[tuple[Module, ast.AST]]) -> Copied:
    """Return classes with what they need of the program.

    Raises:
        ForeignError: something needs a framework, or is not defined at the top of a module.
    """
    copier = _Copier()
    for module, node in classes:
        copier.add(module, node)
    return Copied(tuple(sorted(copier.imports)), tuple(copier.definitions.values()))


class _Copier:
    def __init__(self) -> None:
        self.imports: set[str] = {"import numpy as np"}
        self.definitions: dict[ast.AST, str] = {}
        self._open: set[ast.AST] = set()
        known = scripts()
        self._row_classes = tuple(name for script in known for name in script.row_classes)
        self._arrays = {name: own for script in known for name, own in script.arrays.items()}
        self._typed = {name: own for script in known for name, own in script.typed_arrays.items()}

    def add(self, module: Module, node: ast.AST) -> None:
        """Add a definition after those that it needs."""
        if node in self.definitions or node in self._open:
            return
        self._open.add(node)
        edits = list(self._base_edits(module, node))
        done: set[ast.AST] = set()
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name | ast.Attribute) and inner not in done:
                edits += self._use(module, inner, done)
        assert isinstance(node, ast.stmt)
        self.definitions[node] = _text(module, node, edits)

    def _base_edits(self, module: Module, node: ast.AST) -> Iterator[Edit]:
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                if module.resolve(base) in self._row_classes:
                    yield replace_node(module, base, "object")

    def _use(self, module: Module, node: ast.expr, done: set[ast.AST]) -> Iterator[Edit]:
        """Yield the edits of a name of a framework; add what a name of the program needs."""
        name = module.resolve(node)
        if is_of_framework(name) and _is_imported(module, node):
            done.update(ast.walk(node))
            yield from self._replaced(module, node, name)
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self._define(module, node)

    def _replaced(self, module: Module, node: ast.expr, name: str) -> Iterator[Edit]:
        if name.startswith(self._row_classes) or name in OWN:
            return
        call = module.parent(node)
        if name in self._typed and isinstance(call, ast.Call) and len(call.args) == 1:
            inner = module.text(call.args[0])
            if not any(word in inner for word in OWN):
                yield replace_node(module, call, f"np.asarray({inner}, {self._typed[name]})")
                return
        if name not in self._arrays:
            raise ForeignError(f"the rows need {name}", module.span(node))
        yield replace_node(module, node, self._arrays[name])

    def _define(self, module: Module, node: ast.Name) -> None:
        """Add the import or the definition of a name."""
        scope = module.scope_of(node).lookup(node.id)
        if scope is None:
            if not hasattr(builtins, node.id):
                raise ForeignError(f"the rows need {node.id}", module.span(node))
            return
        if scope.parent is not None:
            return  # a name of the class or its methods
        bindings = scope.bindings.get(node.id, [])
        if len(bindings) != 1:
            raise ForeignError(f"the rows need {node.id}", module.span(node))
        (binding,) = bindings
        statement = (
            binding.node
            if isinstance(binding.node, ast.stmt)
            else (module.statement_of(binding.node))
        )
        if binding.kind == "import":
            if not is_of_framework(binding.target):
                self.imports.add(_import(binding.target, node.id))
        elif statement in module.tree.body and binding.kind in ("assign", "function", "class"):
            assert statement is not None
            self.add(module, statement)
        else:
            raise ForeignError(f"the rows need {node.id}", module.span(node))


def _is_imported(module: Module, node: ast.expr) -> bool:
    """Whether an expression is the name of an import, or an attribute of it."""
    while isinstance(node, ast.Attribute):
        node = node.value
    if not isinstance(node, ast.Name):
        return isinstance(node, ast.Call)  # of super().__init__
    scope = module.scope_of(node).lookup(node.id)
    bindings = scope.bindings.get(node.id, []) if scope is not None else []
    return any(binding.kind == "import" for binding in bindings)


def _import(target: str, name: str) -> str:
    package, _, last = target.rpartition(".")
    if name == target:
        return f"import {target}"
    if not package:
        return f"import {target} as {name}"
    return f"from {package} import {last}" + ("" if last == name else f" as {name}")


def _text(module: Module, node: ast.stmt, edits: Sequence[Edit]) -> str:
    """Return the text of a statement after edits."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    assert node.end_lineno is not None
    whole = apply_edits(module.source.text, edits)
    lines = whole.replace("\r\n", "\n").split("\n")
    grown = len(lines) - len(module.lines)
    text = "\n".join(lines[first - 1 : node.end_lineno + grown]).rstrip()
    return text.replace("(object):", ":", 1)
