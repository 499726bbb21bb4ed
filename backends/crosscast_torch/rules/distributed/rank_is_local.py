"""CL607: the rank within a node is given as the rank among all processes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.scopes import Binding, path_of
from crosscast_reading.sources.subject import Subject
from crosscast_torch.reading.spawned import Spawn, node_factor, spawns, starts_all

_LOCAL = re.compile(r"(^|[._\"'\[])local_?rank[\"'\]]*$", re.I)
_NODES = re.compile(r"(^|\.)(n_?|num_|args\.)?(nnodes|nodes|machines|hosts|node_count)$", re.I)
_WORLD = re.compile(r"^(os\.)?(environ\.get|getenv|environ)\b.*WORLD_SIZE")
_HOPS = 5


def check(subject: Subject) -> Iterator[Finding]:
    """Find process groups of several nodes that are given ranks of one node."""
    program = subject.program
    for call in program.calls("torch.distributed.init_process_group"):
        match call.bound():
            case {"rank": rank, "world_size": size}:
                pass
            case _:
                continue
        spawned = _started(rank, call.module, spawns(program))
        local = spawned is not None or _is_local(rank, call.module)
        if local and _counts_nodes(size, call.module, spawned):
            yield Finding(
                span=call.module.span(rank),
                message=f"{call.module.text(rank)} is the rank within one node, but "
                f"{call.module.text(size)} counts the processes of all nodes",
                hint="pass node_rank * processes_per_node + local_rank, or leave out both, as "
                "torchrun sets RANK",
                related=(call.module.span(size),),
            )


def _is_local(node: ast.expr, module: Module) -> bool:
    """Whether all values of an expression certainly are the rank within a node."""
    return all(_LOCAL.search(where.text(value)) for value, where in _values(node, module))


def _started(rank: ast.expr, module: Module, spawn_calls: Sequence[Spawn]) -> Spawn | None:
    """Return the call that starts the processes if the rank always is the number it gives each."""
    for spawn in spawn_calls:
        if _is_index(rank, module, spawn, _HOPS):
            return spawn
    return None


def _is_index(node: ast.expr, module: Module, spawn: Spawn, hops: int) -> bool:
    """Whether all that is assigned to a name comes from the number of the process."""
    if isinstance(node, ast.Name) and spawn.is_index(node, module):
        return True
    bindings = definitions(node, module) if hops else ()
    return bool(bindings) and all(
        binding.assigned is not None
        and _is_index(binding.assigned, binding.module, spawn, hops - 1)
        for binding in bindings
    )


def _counts_nodes(node: ast.expr, module: Module, spawned: Spawn | None) -> bool:
    """Whether a number of processes is a product with the nodes, or that of the launcher."""
    if spawned is not None and node_factor(node, module, spawned) is not None:
        return True
    if spawned is not None and starts_all(node, module, spawned):
        return False
    for value, where in _values(node, module):
        text = where.text(value)
        factors = [value.left, value.right] if isinstance(value, ast.BinOp) else []
        if any(_NODES.search(where.text(factor)) for factor in factors) or _WORLD.search(text):
            return True
    return False


def _values(node: ast.expr, module: Module, hops: int = 0) -> Iterator[tuple[ast.expr, Module]]:
    """Yield the values of names and settings; themselves where nothing assigns to them."""
    match node:
        case ast.Call(func=ast.Name(id="int" | "float"), args=[inner]):
            node = inner
    values = [
        (binding.assigned, binding.module)
        for binding in definitions(node, module) or _set_elsewhere(node, module)
        if binding.assigned is not None
    ]
    if not values or hops > _HOPS:
        yield node, module
        return
    for value, where in values:
        yield from _values(value, where, hops + 1)


def _set_elsewhere(node: ast.expr, module: Module) -> Sequence[Binding]:
    """Return the bindings of a setting of the same name in other functions of the file."""
    path = path_of(node) if isinstance(node, ast.Attribute) else None
    return module.path_homes.get(path, ()) if path is not None else ()


RULE = Rule("CL607", check, hints=("init_process_group",))
