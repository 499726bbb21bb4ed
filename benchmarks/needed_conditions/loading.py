"""Import rewritten modules from memory; nothing is written into the tree."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from conditions import rewrite
from switch import SWITCH


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        super().__init__(name, path)
        self._tree = tree

    def get_code(self, fullname: str) -> CodeType:
        """Compile the rewritten module; compiled files on disk are of the original."""
        return compile(self._tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module with the names that the conditions need."""
        module.__dict__.update(SWITCH.names())
        super().exec_module(module)


class _Finder(MetaPathFinder):
    def __init__(self, trees: dict[str, ast.Module]) -> None:
        self._trees = trees

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find rewritten modules only."""
        if not fullname.startswith("crosscast."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin not in self._trees:
            return None
        spec.loader = _Loader(fullname, spec.origin, self._trees[spec.origin])
        return spec


def install(package: Path, files: Iterable[Path]) -> None:
    """Rewrite modules of the package and have them imported instead of the originals."""
    assert not any(name.startswith("crosscast.") for name in sys.modules)
    trees: dict[str, ast.Module] = {}
    for file in files:
        name = file.relative_to(package).as_posix()
        tree, found = rewrite(file.read_text(encoding="utf-8"), name, len(SWITCH.conditions))
        SWITCH.add(found)
        trees[str(file)] = tree
    sys.meta_path.insert(0, _Finder(trees))
