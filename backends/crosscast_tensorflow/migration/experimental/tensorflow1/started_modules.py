"""The modules of a program that are run as scripts."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program

_Imported = Mapping[Module, Sequence[Module]]


def started_with(program: Program, wanted: Collection[Module]) -> list[Module]:
    """Return the scripts that import one of some modules, directly or not, or are one.

    A script says so (`__main__`), or no other module imports it. What a function of another module
    imports does not count: most scripts that import that module never call it. A wanted module
    that no such script reaches counts itself.
    """
    at_start = {module: _imported(module, program.modules, top=True) for module in program.modules}
    at_any_time = {
        module: _imported(module, program.modules, top=False) for module in program.modules
    }
    within = {module for modules in at_any_time.values() for module in modules}
    first = {module for module in wanted if _has_top_import(module)}
    started: list[Module] = []
    covered: set[Module] = set()
    for module in program.modules:
        if "__main__" not in module.source.text and module in within:
            continue
        near = {*_reached([module], at_start), *_reached(at_any_time[module], at_start)}
        if module in wanted or near & first:
            started.append(module)
            covered |= _reached([module], at_any_time)
    return [*started, *(module for module in wanted if module not in covered)]


def parts_of(program: Program) -> list[list[Module]]:
    """Return each script of a program with the modules that it imports, directly or not."""
    imported = {module: _imported(module, program.modules, top=False) for module in program.modules}
    within = {module for modules in imported.values() for module in modules}
    scripts = [
        module
        for module in program.modules
        if "__main__" in module.source.text or module not in within
    ]
    found = [_reached([script], imported) for script in scripts] or [set(program.modules)]
    return [[module for module in program.modules if module in part] for part in found]


def _has_top_import(module: Module) -> bool:
    return any(
        module.scope_of(node) is module.scope
        for node in _imports_of(module)
        if _is_tensorflow(node)
    )


def _imports_of(module: Module) -> list[ast.Import | ast.ImportFrom]:
    return [*module.every(ast.Import), *module.every(ast.ImportFrom)]


def _is_tensorflow(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.names[0].name == "*" or (node.module or "").partition(".")[0] == "tensorflow"
    return any(alias.name.partition(".")[0] == "tensorflow" for alias in node.names)


def _imported(module: Module, modules: Sequence[Module], *, top: bool) -> list[Module]:
    """Return the modules with a name that a module imports, by the last part of the name.

    Args:
        module: what imports.
        modules: all modules of the program.
        top: whether only imports outside of functions count.
    """
    names: set[str] = set()
    for node in _imports_of(module):
        if top and module.function_of(node) is not None:
            continue
        names |= {alias.name.rpartition(".")[2] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            names.add((node.module or "").rpartition(".")[2])
    return [
        other for other in modules if other is not module and other.name.rpartition(".")[2] in names
    ]


def _reached(starts: Sequence[Module], imported: _Imported) -> set[Module]:
    seen = set(starts)
    waiting = list(seen)
    while waiting:
        new = [other for other in imported[waiting.pop()] if other not in seen]
        seen.update(new)
        waiting += new
    return seen
