"""Which settings an expression reads: the call that makes them or the flag of their file, and keys.

Changes of settings outside of the functions that make them are found in the same way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.evaluation.section import COPIES, makes_settings
from crosscast_reading.pysource.flags.reading import flag_read
from crosscast_reading.pysource.names.containers import definitions, sources_of
from crosscast_reading.pysource.programs.once import once
from crosscast_reading.pysource.programs.scopes import path_of
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.builtins import CHANGES

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.flag import Flag
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

LIBRARY = "ml_collections"
CONFIG_FILE = "config_file"
"""Type of a flag that names a file of settings."""
_SAME = frozenset({"unlocked", "copy_and_resolve_references", "ignore_type"})
_CHANGING = CHANGES | {"update_from_flattened_dict", "__setattr__", "__setitem__"}
_DEEPEST = 12
Keys = tuple[str | int, ...]


@dataclass(frozen=True)
class Read:
    """An entry of settings."""

    place: ast.Call
    """What makes them: the call of a function, or the definition of a flag for their file."""
    module: Module
    keys: Keys
    flag: Flag | None = None


@dataclass(frozen=True)
class Change:
    """A statement that changes an entry, or may change all below its keys."""

    read: Read
    node: ast.AST
    module: Module
    assigned: tuple[str, tuple[str | int, ...]] | None
    """The path of the entry, by the name it has there, if it is an assignment to it."""


@once
def uses_settings(program: Program) -> bool:
    """Whether a program has anything to do with ml_collections."""
    return any(LIBRARY in module.source.text for module in program.modules)


def read_of(node: ast.expr, module: Module) -> Read | None:
    """Return the entry of settings that an expression reads; None if it may be several."""
    reads = list(_reads(node, module, (), 0))
    first = reads[0] if reads else None
    if first is None or any(r.place is not first.place or r.keys != first.keys for r in reads):
        return None
    return first


def _reads(node: ast.expr, module: Module, keys: Keys, depth: int) -> Iterator[Read]:
    if depth > _DEEPEST:
        return
    if isinstance(node, ast.Attribute | ast.Subscript):
        flag = flag_read(node, module)
        if flag is not None and flag.type == CONFIG_FILE and isinstance(flag.node, ast.Call):
            yield Read(flag.node, flag.module, keys, flag)
            return
        key = node.attr if isinstance(node, ast.Attribute) else _constant(node.slice)
        outer = [] if key is None else list(_reads(node.value, module, (key, *keys), depth + 1))
        yield from outer or _assigned(node, module, keys, depth)
    elif isinstance(node, ast.Name):
        yield from _assigned(node, module, keys, depth)
    elif isinstance(node, ast.Call):
        callee = module.program.function(module.call(node))
        if callee is not None:
            if _returns_settings(*callee, 0):
                yield Read(node, module, keys)
            return
        function, name = node.func, module.resolve(node.func)
        if name in COPIES or makes_settings(name):
            for given in node.args[:1]:
                yield from _reads(given, module, keys, depth + 1)
        elif isinstance(function, ast.Attribute) and function.attr in _SAME:
            yield from _reads(function.value, module, keys, depth + 1)


def _constant(node: ast.expr) -> str | int | None:
    match node:
        case ast.Constant(value=str() | int() as content):
            return content
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as content)):
            return -content
    return None


def _assigned(node: ast.expr, module: Module, keys: Keys, depth: int) -> Iterator[Read]:
    for binding in definitions(node, module):
        for value, where in sources_of(binding):
            yield from _reads(value, where, keys, depth + 1)


def _returns_settings(module: Module, function: Function, depth: int) -> bool:
    """Whether a function makes settings, or calls one that does, and returns something."""
    scope = module.scopes.get(function)
    if scope is None or scope.generator or depth > 3:
        return False
    if not any(statement.value is not None for statement in scope.returns):
        return False
    for node in walk(function):
        if isinstance(node, ast.Call):
            if makes_settings(module.resolve(node.func)):
                return True
            callee = module.program.function(module.call(node))
            is_other = callee is not None and callee[1] is not function
            if callee is not None and is_other and _returns_settings(*callee, depth + 1):
                return True
    return False


def changes_in(program: Program) -> Sequence[Change]:
    """Return the statements of a program that change settings, wherever these are made."""
    return [
        Change(read, node, module, path_of(target) if assigns else None)
        for module in program.modules
        for node, target, assigns in _targets(module)
        if (read := read_of(target, module)) is not None
    ]


def _targets(module: Module) -> Iterator[tuple[ast.AST, ast.expr, bool]]:
    """Yield statements and calls with what they change, and whether they assign to it."""
    for bindings in module.path_homes.values():
        for binding in bindings:
            node = binding.node
            targets = (
                node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
            )
            for target in targets:
                if isinstance(target, ast.Attribute | ast.Subscript):
                    yield node, target, isinstance(node, ast.Assign)
    for node in walk(module.tree):
        match node:
            case ast.Attribute(ctx=ast.Del()) | ast.Subscript(ctx=ast.Del()):
                yield node, node, False
                if path_of(node) is None:  # only a run can tell the key
                    yield node, node.value, False
            case ast.Subscript(ctx=ast.Store()) if path_of(node) is None:
                yield node, node.value, False
    for call in module.calls:
        function, args = call.node.func, call.node.args
        if isinstance(function, ast.Attribute) and function.attr in _CHANGING:
            yield call.node, function.value, False
        elif isinstance(function, ast.Name) and function.id in ("setattr", "delattr") and args:
            yield call.node, args[0], False
