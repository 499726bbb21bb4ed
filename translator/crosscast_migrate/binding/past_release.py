"""The public names of a release that is unpacked, not installed: nothing of it is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

_DEEPEST = 30
"""Imports that lead to each other are not followed any longer."""
_NOT_PUBLIC = ("tests", "test", "testing", "python", "src")


class PastRelease:
    """Reads the modules of a release.

    An object is known by where it is defined, as `module:name`; names with the same place name one
    object.
    """

    def __init__(self, folder: Path, homes: Mapping[str, str] | None = None) -> None:
        """Read below a folder. `homes`: package to the folder that its modules are really in."""
        self._folder = folder
        self._homes = homes or {}
        self._read: dict[str, _Module | None] = {}
        self._names: dict[str, frozenset[str]] = {}

    def names(self, prefix: str, path: str) -> Mapping[str, str]:
        """Return the dotted names below a module, each with its object; "" for a module.

        Args:
            prefix: the name of the module in programs.
            path: its folder or file below that of the release.
        """
        origins: dict[str, str] = {}
        place = self._folder / path
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            parts = file.relative_to(place).parts
            parts = (*parts[:-1], *[file.stem for _ in parts[-1:]])
            parts = parts[:-1] if parts[-1:] == ("__init__",) else parts
            if any(part.startswith("_") or part in _NOT_PUBLIC for part in parts):
                continue
            dotted = ".".join((prefix, *parts))
            origins[dotted] = ""
            module = ".".join((*Path(path).with_suffix("").parts, *parts)).removesuffix(".__init__")
            for name in self._names_in(module):
                made = self._place(module, name, _DEEPEST)
                if self._is_own(made, prefix) and not name.startswith("_"):
                    origins.setdefault(f"{dotted}.{name}", made)
        return origins

    def _is_own(self, made: str, prefix: str) -> bool:
        """Whether an object is of the release, not of what it imports."""
        first = made.replace(":", ".").partition(".")[0]
        own = first.startswith(prefix.partition(".")[0]) or self._folder.joinpath(first).exists()
        return bool(made) and own

    def _module(self, name: str) -> _Module | None:
        if name not in self._read:
            first, dot, rest = name.partition(".")
            real = f"{self._homes.get(first, first)}{dot}{rest}"
            path = self._folder.joinpath(*real.split("."))
            files = (path / "__init__.py", path.parent / f"{path.name}.py")
            file = next((file for file in files if file.is_file()), None)
            self._read[name] = _Module(name, file) if file is not None else None
        return self._read[name]

    def _names_in(self, name: str) -> frozenset[str]:
        if name not in self._names:
            module = self._module(name)
            self._names[name] = frozenset()  # modules may take all names of each other
            if module is not None:
                stars = map(self._names_in, module.stars)
                self._names[name] = frozenset(module.bound).union(module.listed, *stars)
        return self._names[name]

    def _place(self, name: str, attribute: str, deepest: int) -> str:
        """Where an attribute of a module is defined; empty for a module."""
        module = self._module(name)
        if module is None or not deepest:
            return "" if self._module(f"{name}.{attribute}") else f"{name}:{attribute}"
        target = module.bound.get(attribute)
        if target is None:
            for star in module.stars:
                if attribute in self._names_in(star):
                    return self._place(star, attribute, deepest - 1)
            if attribute not in module.listed and self._module(f"{name}.{attribute}"):
                return ""
            return f"{name}:{attribute}"
        above, _, last = target.rpartition(":")
        if (above, last) == (name, attribute):
            return target
        if not last or self._module(f"{above}.{last}"):
            return ""
        return self._place(above, last, deepest - 1)


class _Module:
    """What one file binds."""

    def __init__(self, name: str, file: Path) -> None:
        self._name = name
        self._package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        self._tree = ast.parse(file.read_text(encoding="utf-8", errors="replace"))

    @cached_property
    def stars(self) -> list[str]:
        """The modules whose names it takes all."""
        return [
            self._absolute(node)
            for node in _statements(self._tree.body)
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
        ]

    @cached_property
    def listed(self) -> frozenset[str]:
        """The texts in lists of names, as in `__all__`: what is made at run time stands there."""
        return frozenset(
            part.value
            for node in self._tree.body
            if isinstance(node, ast.Assign | ast.AugAssign)
            and any(name.startswith("__") for name in _targets(node))
            for part in ast.walk(node.value)
            if isinstance(part, ast.Constant)
            and isinstance(part.value, str)
            and part.value.isidentifier()
        )

    @cached_property
    def bound(self) -> Mapping[str, str]:
        """Name to where it may be defined, as `module:name`; without a name for a module."""
        bound: dict[str, str] = {}
        for node in _statements(self._tree.body):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                bound[node.name] = f"{self._name}:{node.name}"
            elif isinstance(node, ast.Assign):
                value = node.value
                same = isinstance(value, ast.Name) and value.id in bound
                for target in _targets(node):
                    bound[target] = (
                        bound[value.id]
                        if same and isinstance(value, ast.Name)
                        else f"{self._name}:{target}"
                    )
            elif isinstance(node, ast.Import):
                bound |= {alias.asname: f"{alias.name}:" for alias in node.names if alias.asname}
            elif isinstance(node, ast.ImportFrom):
                above = self._absolute(node)
                named = [alias for alias in node.names if alias.name != "*"]
                bound |= {each.asname or each.name: f"{above}:{each.name}" for each in named}
        return bound

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self._package.split(".")
        parts = parts[: len(parts) - node.level + 1]
        return ".".join([*parts, *filter(None, [node.module])])


def _targets(node: ast.Assign | ast.AugAssign) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    yield from (target.id for target in targets if isinstance(target, ast.Name))


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements and those within conditions and attempts, which may run."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from _statements(handler.body)
