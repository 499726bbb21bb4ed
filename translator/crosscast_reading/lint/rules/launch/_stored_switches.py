"""Switches of half precision that a program only stores."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.scalers import idle_scalers
from crosscast_reading.lint.namespaces import NAMES
from crosscast_reading.lint.topics import topic_of
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.sources.subject import Subject

_CASTS = re.compile(r"auto_?cast|amp_guard|decorate|half|b?float16|cast|astype|to|type|initialize")
_LOOKS = frozenset({"getattr", "hasattr", "setattr", "isinstance", "super", "id", "repr", "print"})
"""Calls that get an object and do not keep it."""


def stored_switches(subject: Subject) -> Iterator[tuple[ast.Attribute, Module, list[str]]]:
    """Yield switches that end in attributes nothing reads, with those, if a scaler idles too.

    That nothing else casts is asked of the whole program: the scaler shows that the loop was meant
    to have half precision, and the loop that it has none.
    """
    program = subject.program
    if not idle_scalers(subject) or _casts(program):
        return
    reads_by_name: dict[str, list[tuple[ast.Attribute, Module]]] = {}
    for module in program.modules:
        for node in module.every(ast.Attribute):
            if topic_of(node.attr) == "precision" and identifier(node.value) in NAMES:
                reads_by_name.setdefault(node.attr, []).append((node, module))
    for reads in reads_by_name.values():
        stored = [_stored(node, module) for node, module in reads]
        if all(stored) and not any(_is_read(name, program) for name in stored):
            yield *reads[0], list(dict.fromkeys(stored))


def _casts(program: Program) -> bool:
    """Whether a program may cast anything to half precision, or hand `self` to code that may."""
    return any(
        _CASTS.fullmatch(call.method)
        or call.name.endswith((".autocast", ".auto_cast"))
        or (call.method not in _LOOKS and "self" in map(module.text, call.node.args))
        for module in program.modules
        for call in module.calls
    )


def _stored(node: ast.expr, module: Module) -> str:
    """Return the attribute of `self` that a switch decides; empty if it does more than that."""
    child: ast.AST = node
    parent = module.parent(node)
    while isinstance(parent, ast.IfExp | ast.BoolOp | ast.UnaryOp | ast.Compare):
        child, parent = parent, module.parent(parent)
    match parent:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
            return name if value is child else ""
    return ""


def _is_read(name: str, program: Program) -> bool:
    for node in (each for module in program.modules for each in module.nodes):
        match node:
            case ast.Attribute(attr=word, ctx=ast.Load()) | ast.Constant(value=word) if (
                word == name
            ):
                return True
    return False
