"""Which files of a program use each other; another whole program beside them decides nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.sources.prefilter import may_train
from crosscast_reading.trainstep.events import TrainingStep


def connected(module: Module) -> frozenset[Module]:
    """Return the modules that use what a module defines, or that it uses, through any number.

    A file that is imported without a visible use of what it defines is one of them only if it has
    nothing of a training program: it may be imported for what its import does.
    """
    return _groups(module.program)[module]


def programs_beside(program: Program, steps: Sequence[TrainingStep]) -> list[list[Module]]:
    """Return the groups of modules that train by themselves and are not of the main file's program.

    Empty if the main file's own group has no training step: what it trains may then be in another.
    """
    homes = {module for step in steps for module in modules_of(step)}
    if not homes or program.modules[0] not in homes:
        return []
    groups = {connected(module) for module in program.modules if module in homes}
    return [
        [module for module in program.modules if module in group]
        for group in sorted(groups, key=lambda group: min(map(program.modules.index, group)))
        if program.modules[0] not in group
    ]


def modules_of(step: TrainingStep) -> frozenset[Module]:
    """Return the modules that a training step stands in, with those that are connected to them."""
    homes = {event.module for event in step.events} | {step.module}
    return frozenset().union(*map(connected, homes))


@once
def _groups(program: Program) -> dict[Module, frozenset[Module]]:
    groups = {module: {module} for module in program.modules}
    for module in program.modules:
        for other in _used(module):
            if other not in groups[module]:
                merged = groups[module] | groups[other]
                groups.update(dict.fromkeys(merged, merged))
    return {module: frozenset(group) for module, group in groups.items()}


def _used(module: Module) -> Iterator[Module]:
    """Yield the modules of the program of whose definitions a module uses some."""
    statements: tuple[ast.Import | ast.ImportFrom, ...] = (
        *module.every(ast.Import),
        *module.every(ast.ImportFrom),
    )
    for node in statements:
        base = f"{'.' * node.level}{node.module or ''}" if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            used = _is_used(name, module)
            joined = f"{base}{alias.name}" if base.endswith(".") else f"{base}.{alias.name}"
            for dotted in (base, joined) if base else (alias.name,):
                imported = module.program.find_module(dotted, module)
                if imported is not None and (used or not may_train(imported.source)):
                    yield imported


def _is_used(name: str, module: Module) -> bool:
    """Whether an imported name is read in a module, or may be imported from it by others."""
    if name == "*" or module.source.name.endswith("__init__.py") or name in _read_in(module):
        return True
    others = (other for other in module.program.modules if other is not module)
    return any(name in _asked_by(other) or other.stars for other in others)


@once
def _read_in(module: Module) -> frozenset[str]:
    """Return the names that a module reads."""
    return frozenset(node.id for node in module.every(ast.Name))


@once
def _asked_by(module: Module) -> frozenset[str]:
    """Return the names that a module may read of others: attributes, and what it imports."""
    attributes = {node.attr for node in module.every(ast.Attribute)}
    imported = {each.name for node in module.every(ast.ImportFrom) for each in node.names}
    return frozenset(attributes | imported)
