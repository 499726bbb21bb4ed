"""Processes that a PyTorch program starts itself, a number on every machine."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.pysource.values.value import Known

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

SPAWNS = ("torch.multiprocessing.spawn", "torch.multiprocessing.start_processes")
_Place = tuple[ast.expr, "Module"]


@dataclass(frozen=True, slots=True)
class Spawn:
    """A call of `torch.multiprocessing.spawn`."""

    call: Call
    function: Function | None
    """What every process runs; its first parameter is the number of the process on its machine."""

    def is_index(self, node: ast.Name, module: Module) -> bool:
        """Whether a name is the number of the process on its machine."""
        function = self.function
        if function is None or module.function_of(node) is not function:
            return False
        first = [*function.args.posonlyargs, *function.args.args][:1]
        return [each.arg for each in first] == [node.id] and not any(
            binding.kind != "parameter"
            for binding in module.scopes[function].bindings.get(node.id, ())
        )

    def given(self, node: ast.Name, module: Module) -> _Place | None:
        """Return the argument that `args=(…)` gives for a parameter of the function."""
        function, values = self.function, self.call.bound().get("args")
        if function is None or module.function_of(node) is not function:
            return None
        names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
        place = names.index(node.id) - 1 if node.id in names else -1
        if isinstance(values, ast.Tuple) and 0 <= place < len(values.elts):
            return values.elts[place], self.call.module
        return None


def spawns(program: Program) -> list[Spawn]:
    """Return the calls that start processes on this machine."""
    spawn_calls = []
    for name in SPAWNS:
        for call in program.calls(name):
            started = call.bound().get("fn")
            function = program.function_named(call.module.resolve(started)) if started else None
            spawn_calls.append(Spawn(call, function[1] if function is not None else None))
    return spawn_calls


def node_factor(size: ast.expr, module: Module, spawn: Spawn) -> _Place | None:
    """Return the number of machines in `world_size = processes_of_one * machines`.

    It is what the number of processes that are started here is multiplied by; None if the size is
    no such product, or one with a 1 that no flag changes.
    """
    processes = spawn.call.bound().get("nprocs")
    if processes is None:
        return None
    texts = set(_texts(processes, spawn.call.module, spawn))
    for here, where in _sources(size, module, spawn):
        match here:
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                pass
            case _:
                continue
        for one, other in ((left, right), (right, left)):
            if texts & set(_texts(one, where, spawn)) and not _is_one(other, where):
                return other, where
    return None


def starts_all(size: ast.expr, module: Module, spawn: Spawn) -> bool:
    """Whether the size of a group is the number of processes that are started on this machine."""
    processes = spawn.call.bound().get("nprocs")
    if processes is None:
        return False
    started = set(_texts(processes, spawn.call.module, spawn))
    return not started.isdisjoint(_texts(size, module, spawn))


def _is_one(node: ast.expr, module: Module) -> bool:
    match evaluate(node, module):
        case Known(value=1, flag=""):
            return True
    return False


def _sources(node: ast.expr, module: Module, spawn: Spawn, depth: int = 0) -> Iterator[_Place]:
    """Yield an expression and what its names stand for, through the arguments of the spawn."""
    for here, where in chase(node, module):
        match here:
            case ast.Call(func=ast.Name(id="int"), args=[inner]):
                here = inner
        yield here, where
        given = spawn.given(here, where) if isinstance(here, ast.Name) else None
        if given is not None and depth < 3:
            yield from _sources(*given, spawn, depth + 1)


def _texts(node: ast.expr, module: Module, spawn: Spawn) -> Iterator[str]:
    """Yield the names of a number, and its value if it is known."""
    for here, where in _sources(node, module, spawn):
        if isinstance(here, ast.Name | ast.Attribute):
            yield identifier(here)
        elif isinstance(here, ast.Call):
            yield where.text(here)
