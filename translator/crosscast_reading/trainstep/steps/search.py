"""The training loops of a program."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from weakref import WeakKeyDictionary

from crosscast_reading.pysource.libraries.packages import TRAINING, package_of_name
from crosscast_reading.pysource.programs.module import Function, Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.trainstep.events import TrainingStep
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.function_index import Index, Owner, index_of
from crosscast_reading.trainstep.frames.object_kinds import called_name, last_name
from crosscast_reading.trainstep.steps.grouping import steps_of
from crosscast_reading.trainstep.walk.inline import lexical
from crosscast_reading.trainstep.walk.walk import ProgramWalker
from crosscast_reading.trainstep.walk.walker import Walker

Site = tuple[Module, Owner, ast.Call]
_MOST_SITES = 400
"""Calls that are looked at, of those that may run a function by their names."""
_found: WeakKeyDictionary[Program, tuple[TrainingStep, ...]] = WeakKeyDictionary()


def training_steps(program: Program) -> tuple[TrainingStep, ...]:
    """Return the training steps of a program, in the order in which they are reached.

    A loop reached by several calls is reported once. Empty if no gradients are computed.
    """
    known = _found.get(program)
    if known is None:
        known = _found[program] = tuple(_find(program))
    return known


def _find(program: Program) -> Iterator[TrainingStep]:
    if not any(_uses_framework(module) for module in program.modules):
        return
    index = index_of(program)
    if not any(module_index.core for module_index in index.modules.values()):
        return
    seen: set[tuple[object, ...]] = set()
    walked: set[ast.AST] = set()
    for module, owner in chain(_roots(program, index), _left_over(index, walked)):
        if owner in walked and owner in index.modules[module].core:
            continue
        if _is_run_around(owner, module, index, walked):
            continue
        walker = ProgramWalker(program, index)
        _run(walker, module, owner)
        walked |= walker.walked
        name = "" if isinstance(owner, ast.Module) else module.qualname(owner)
        for step in steps_of(walker, module, name):
            identity = _identity(step)
            if identity not in seen:
                seen.add(identity)
                yield step


def _is_run_around(owner: Owner, module: Module, index: Index, walked: set[ast.AST]) -> bool:
    """Whether a function stands in one that was walked, as did all that it calls for gradients.

    `jax.lax.scan(add, ...)` runs it, and another branch the same without a scan.
    """
    around = None if isinstance(owner, ast.Module) else module.function_of(owner)
    if around is None or around not in walked or owner in index.modules[module].core:
        return False
    calls = index.modules[module].by_owner.get(owner, ())
    targets = [module.program.function(module.call(call)) for call in calls]
    reached = {target[1] for target in targets if target is not None} & index.reaching
    return bool(reached) and reached <= walked


def _uses_framework(module: Module) -> bool:
    """Whether gradients of a framework can be meant; a file may be given all objects by others."""
    if any(name.startswith(".") or package_of_name(name) in TRAINING for name in module.imported):
        return True
    text = module.source.text
    return "zero_grad(" in text or "clear_grad" in text


def _run(walker: Walker, module: Module, owner: Owner) -> None:
    if isinstance(owner, ast.Module):
        walker.run(module, None, CallFrame(module, None))
        return
    frame = CallFrame(module, owner, outer=lexical(module, module.function_of(owner)))
    frame.owner = frame.self_name
    walker.run(module, owner, frame)


def _identity(step: TrainingStep) -> tuple[object, ...]:
    acting = tuple(sorted({id(e.node) for e in step.of("backward", "step", "accumulate")}))
    return (id(step.loop.node) if step.loop else step.function, acting)


# ---- where to start


def _roots(program: Program, index: Index) -> list[tuple[Module, Owner]]:
    """Return the functions that lead to a backward pass and that none of them calls."""
    core: dict[Owner, Module] = {
        owner: module
        for module, module_index in index.modules.items()
        for owner in module_index.core
    }
    called: set[Owner] = set()
    waiting = list(core)
    names: dict[str, list[Site]] = {}
    for module, module_index in index.modules.items():
        for owner, calls in module_index.by_owner.items():
            for call in calls:
                name = called_name(call)
                name = index.aliases.get(name, name)
                names.setdefault(name, []).append((module, owner, call))
    several = _with_several_arguments(names)
    closures = _closures(index)
    while waiting:
        function = waiting.pop()
        if isinstance(function, ast.Module):
            continue
        for module, owner, call in _sites(names, several, function, core[function]):
            if owner is function:
                continue
            target = program.function(module.call(call))
            if target is None or target[1] is not function:
                continue
            called.add(function)
            if owner not in core:
                core[owner] = module
                waiting.append(owner)
        called |= _as_closure(index, closures, function, core)
    index.reaching.update(core)
    roots = [(module, owner) for owner, module in core.items() if owner not in called]
    order = {module: place for place, module in enumerate(program.modules)}
    return sorted(roots, key=lambda r: (order[r[0]], _line(r[1])))


def _sites(
    names: dict[str, list[Site]], several: Sequence[Site], function: Function, module: Module
) -> list[Site]:
    """Return the calls that may run a function, by their names."""
    sites = names.get(function.name, [])[:_MOST_SITES]
    if function.name in ("__call__", "forward") and module.class_of(function) is not None:
        sites += several
    return sites[:_MOST_SITES]


def _with_several_arguments(names: dict[str, list[Site]]) -> list[Site]:
    """Return the calls that may be of an object, and are given inputs and targets."""
    every = (s for name, sites in names.items() if name not in _COMMON for s in sites)
    return list(islice((site for site in every if len(site[2].args) > 1), _MOST_SITES))


_COMMON = frozenset(
    {"print", "range", "len", "zip", "isinstance", "getattr", "add_argument", "min"}
)


def _closures(index: Index) -> dict[str, dict[Owner, Module]]:
    """Return the names that calls of `step` are given, with the functions of these calls."""
    closures: dict[str, dict[Owner, Module]] = {}
    for module_index in index.modules.values():
        for owner, calls in module_index.by_owner.items():
            for call in calls:
                if last_name(call.func) == "step" and call.args:
                    for node in walk(call.args[0]):
                        if isinstance(node, ast.Name | ast.Attribute):
                            closures.setdefault(last_name(node), {})[owner] = module_index.module
    return closures


def _as_closure(
    index: Index,
    closures: Mapping[str, Mapping[Owner, Module]],
    function: Function,
    core: dict[Owner, Module],
) -> set[Owner]:
    """Return a function if it is given to an optimizer's step by name."""
    for owner, module in closures.get(function.name, {}).items():
        if owner is not function and (owner in core or owner in index.modules[module].hot):
            core.setdefault(owner, module)
            return {function}
    return set()


def _line(owner: Owner) -> int:
    return 0 if isinstance(owner, ast.Module) else owner.lineno


def _left_over(index: Index, walked: set[ast.AST]) -> Iterator[tuple[Module, Owner]]:
    """Yield the functions with a backward pass that no walk has reached."""
    for module, module_index in index.modules.items():
        for owner in module_index.core:
            if owner not in walked:
                yield module, owner
