"""Configurations in Python over those that they inherit from: by `_base_`, or by imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from crosscast.messages.source import Source
from crosscast_reading.readers.inheritance import Inheritance, files_of, lineage, plain_path
from crosscast_reading.readers.python.config_tree import assigned, is_config
from crosscast_reading.readers.tree import Tree

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_DEPTH = 6


class Configurations:
    """The modules of a program that only assign, as trees over those they inherit from."""

    def __init__(self, program: Program) -> None:
        self._modules = {
            plain_path(PurePath(module.source.name)): module
            for module in program.modules
            if is_config(module)
        }
        self._files = files_of(module.source for module in self._modules.values())
        self._parts = {
            part.name for source in self._files.values() for part in lineage(source, self._files)
        }

    def roots(self) -> Iterator[Module]:
        """Yield the configurations from which no other one inherits by `_base_`."""
        for module in self._modules.values():
            if module.source.name not in self._parts:
                yield module

    def tree(self, module: Module) -> Tree:
        """Return the assignments of a module over those of its bases."""
        over = Inheritance(self._files, self._own)
        return over.over_bases(module.source, self._by_imports(module, 0))

    def imported_from(self, module: Module) -> tuple[Module, ...]:
        """Return the given configurations that a module takes names from."""
        return tuple(inner for inner, _ in self._imports(module))

    def _own(self, source: Source) -> Tree | None:
        module = self._modules.get(plain_path(PurePath(source.name)))
        return self._by_imports(module, 0) if module is not None else None

    def _by_imports(self, module: Module, depth: int) -> Tree:
        """Return the assignments of a module over the names that it imports from others."""
        start: dict[str, Tree] = {}
        for base, names in self._imports(module) if depth < _DEPTH else ():
            keys = self._by_imports(base, depth + 1).keys or {}
            for name, shown in names:
                if name == "*":
                    start |= keys
                elif name in keys:
                    start[shown] = keys[name]
        return assigned(module, start)

    def _imports(self, module: Module) -> Iterator[tuple[Module, list[tuple[str, str]]]]:
        for statement in _statements(module):
            if not isinstance(statement, ast.ImportFrom):
                continue
            up = "/".join([".."] * (statement.level - 1))
            folder = PurePath(module.source.name).parent / up
            parts = (statement.module or "").split(".")
            path = plain_path(folder.joinpath(*parts[:-1], f"{parts[-1]}.py"))
            base = self._modules.get(path)
            if base is not None:
                yield base, [(n.name, n.asname or n.name) for n in statement.names]


def _statements(module: Module) -> Iterator[ast.stmt]:
    """Yield the statements of a module, those inside `with read_base():` as well."""
    for statement in module.tree.body:
        if isinstance(statement, ast.With):
            yield from statement.body
        else:
            yield statement
