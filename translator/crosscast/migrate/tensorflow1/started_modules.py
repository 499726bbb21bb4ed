"""The modules of a program that are run as scripts."""

from __future__ import annotations

from collections.abc import Sequence

from crosscast.pysource.programs.module import Module
from crosscast.pysource.programs.program import Program


def started_with(program: Program, wanted: Sequence[Module]) -> list[Module]:
    """Return the scripts that import one of some modules, directly or not, or are one.

    A script says so (`__main__`), or no other module imports it.
    """
    imported = {module: _imported(module, program.modules) for module in program.modules}
    within = {module for modules in imported.values() for module in modules}
    return [
        module
        for module in program.modules
        if ("__main__" in module.source.text or module not in within)
        and _reaches(module, imported, set(wanted))
    ]


def _imported(module: Module, modules: Sequence[Module]) -> list[Module]:
    """Return the modules with a name that a module imports, by the last part of the name."""
    names = (*module.imported, *module.imports.values())
    parts = {name.rpartition(".")[2] for name in names}
    parts |= {name.rpartition(".")[0].rpartition(".")[2] for name in module.imports.values()}
    return [
        other for other in modules if other is not module and other.name.rpartition(".")[2] in parts
    ]


def _reaches(module: Module, imported: dict[Module, list[Module]], wanted: set[Module]) -> bool:
    seen = {module}
    waiting = [module]
    while waiting:
        new = [other for other in imported[waiting.pop()] if other not in seen]
        seen.update(new)
        waiting += new
    return bool(seen & wanted)
