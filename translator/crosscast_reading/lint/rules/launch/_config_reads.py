"""What a program reads of a configuration that it loads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.answers.unseen import unseen_gets
from crosscast_reading.lint.namespaces import is_only_displayed
from crosscast_reading.pysource.names.references import references

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_LOADS = ("yaml.safe_load", "yaml.load", "yaml.full_load", "json.load")


def sections_read(program: Program) -> tuple[Call, dict[str, set[str] | None]] | None:
    """Return the call that loads the only configuration, and the entries read of its sections.

    The entries are None if the section is passed on or read as a whole. None for a configuration
    that is itself passed on, or of which there are several, or whose path is passed on.
    """
    loads = [call for call in program.calls() if call.name in _LOADS]
    if len(loads) != 1:
        return None
    load, module = loads[0], loads[0].module
    match module.parent(load.node):
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is load.node:
            pass
        case _:
            return None
    uses = references(name, load.node, module)
    if uses is None or len(uses.bindings) != 1 or uses.is_handed_on:
        return None
    if unseen_gets(program, _paths(load)):
        return None  # which may load the file again
    sections: dict[str, set[str] | None] = {}
    for node in uses.reads:
        entry = _entry(node, module)
        if entry is None:
            if _is_shown(node, module):
                continue
            return None
        key, read = entry
        inner = _entry(read, module)
        known = sections.setdefault(key, set())
        if inner is None and not _is_shown(read, module):
            sections[key] = None
        elif inner is not None and known is not None:
            known.add(inner[0])
    return load, sections


def _paths(load: Call) -> set[str]:
    """Return the spellings of the file's path in the program, and the objects that have it."""
    module = load.module
    function = module.function_of(load.node)
    opened = [
        path
        for call in (load, *module.program.calls("open"))
        if call.module is module and module.function_of(call.node) is function
        for path in call.node.args[:1]
    ]
    if function is not None:
        for call in module.program.call_sites(module, function):
            opened += [*call.node.args, *(each.value for each in call.node.keywords)]
    owners = [path.value for path in opened if isinstance(path, ast.Attribute)]
    return {ast.unparse(path) for path in (*opened, *owners)}


def _entry(node: ast.expr, module: Module) -> tuple[str, ast.expr] | None:
    """Return the key and the expression of `node["key"]` or `node.get("key")`."""
    match module.parent(node):
        case ast.Subscript(slice=ast.Constant(value=str(key)), value=owner) as read:
            return (key, read) if owner is node else None
        case ast.Attribute(attr="get") as function:
            match module.parent(function):
                case ast.Call(func=called, args=[ast.Constant(value=str(key)), *_]) as got:
                    return (key, got) if called is function else None
    return None


def _is_shown(node: ast.expr, module: Module) -> bool:
    """Whether an expression is only an argument of a call that displays it."""
    around = module.parent(node)
    call = around if isinstance(around, ast.Call) and around.func is not node else None
    return call is not None and any(_displays(call, node, module))


def _displays(call: ast.Call, node: ast.expr, module: Module) -> Iterator[bool]:
    yield isinstance(node, ast.Call) and is_only_displayed(node, module)
    yield isinstance(call.func, ast.Name) and call.func.id == "print"
