"""How modules, classes and calls of one program belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.libraries.public_names import INSTALLED
from crosscast_reading.pysource.names.reaching_assignments import reaching
from crosscast_reading.pysource.programs.scopes import Binding

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_MAX_BASES = 12


def find_module(modules: Sequence[Module], dotted: str, importer: Module) -> Module | None:
    """Return the module that an import means: relative to the importer, or to a folder above it."""
    here = _folder(importer.source.name)
    stripped = dotted.lstrip(".")
    level = len(dotted) - len(stripped)
    parts = [p for p in stripped.split(".") if p]
    files = {_normal(m.source.name): m for m in modules}
    if level:
        folder = here[: len(here) - (level - 1)] if level - 1 <= len(here) else None
        return _at(files, [*folder, *parts]) if folder is not None else None
    if not parts or parts[0] in INSTALLED:
        return None
    for depth in range(len(here), -1, -1):
        module = _at(files, [*here[:depth], *parts])
        if module is not None:
            return module
    tail = "/".join(parts)
    fitting = [
        m
        for name, m in files.items()
        if f"/{name}".endswith((f"/{tail}.py", f"/{tail}/__init__.py"))
    ]
    return fitting[0] if len(fitting) == 1 else None


def _normal(name: str) -> str:
    return "/".join(p for p in name.replace("\\", "/").split("/") if p not in ("", "."))


def _folder(name: str) -> list[str]:
    return _normal(name).split("/")[:-1]


def _at(files: dict[str, Module], parts: Sequence[str]) -> Module | None:
    path = "/".join(parts)
    return files.get(f"{path}.py") or files.get(f"{path}/__init__.py" if path else "__init__.py")


def global_bindings(program: Program, target: str, importer: Module) -> Sequence[Binding]:
    """Return the assignments to a name that is imported from the program, through re-exports."""
    for _ in range(_MAX_BASES):
        base, _, name = target.rpartition(".")
        if target.startswith(".") and not base.strip("."):
            base = target[: len(target) - len(name)]
        holder = program.find_module(base, importer) if base else None
        if holder is None:
            return ()
        bindings = holder.scope.bindings.get(name)
        if not bindings:
            return ()
        seen = reaching(bindings, None, holder)
        if seen[-1].kind != "import":
            return seen
        target, importer = seen[-1].target, holder
    return ()
