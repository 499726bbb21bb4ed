"""What calls return: instances, their own arguments, results of functions of the program."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.libraries import public_names
from crosscast_reading.pysource.programs.meaning import Meaning, meanings_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program


def results_of(
    node: ast.Call, module: Module, program: Program, part: int | None = None
) -> Iterator[Meaning]:
    """Yield the meanings of the result of a call, or of one part of the tuple that it returns."""
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in public_names.SELF_RETURNING:
        receiver = [m for m in meanings_of(function.value, module) if m.kind == "instance"]
        if receiver and part is None:
            yield from receiver
            return
    if isinstance(function, ast.Name) and function.id in ("getattr", "super"):
        yield from _special(node, function.id, module, program)
        return
    for meaning in meanings_of(function, module):
        yield from _result(meaning, node, module, program, part)


def _result(
    meaning: Meaning, node: ast.Call, module: Module, program: Program, part: int | None
) -> Iterator[Meaning]:
    name = meaning.name
    if meaning.kind == "instance":
        name = f"{name}.__call__"
        method = list(program.attribute_of(meaning, "__call__")) if ":" in meaning.name else []
        if method and ":" in method[0].name:
            name = method[0].name
    if name == "functools.partial" and node.args:
        for inner in meanings_of(node.args[0], module):
            yield Meaning(inner.name, inner.kind, None, module, (*inner.partial, node))
        return
    given = _handed_through(name, node, module, program, part)
    if given is not None:
        yield from meanings_of(given, module)
        return
    classes = public_names.RESULTS.get(name)
    if classes is not None and part is not None:
        if part < len(classes):
            yield Meaning(classes[part], "instance", node, module)
        return
    if name.endswith(".parse_args_into_dataclasses") and part is not None:
        yield from _dataclass_part(node, module, program, part)
        return
    if ":" in name:
        callee = program.function_named(name)
        if callee is not None:
            yield from _returned(callee[0], callee[1], program, part)
            return
        if program.class_named(name) is None and meaning.kind != "instance":
            if part is None:
                yield Meaning(name, "instance", node, module)
            return
    if part is None:
        yield Meaning(name, "instance", node, module)


def part_sources(node: ast.Call, module: Module, program: Program, part: int) -> Iterator[ast.expr]:
    """Yield the argument that is handed through as a part of the result."""
    for meaning in meanings_of(node.func, module):
        given = _handed_through(meaning.name, node, module, program, part)
        if given is not None:
            yield given


def _handed_through(
    name: str, node: ast.Call, module: Module, program: Program, part: int | None
) -> ast.expr | None:
    handed = public_names.HANDED_THROUGH.get(name)
    if handed is not None:
        place = handed if isinstance(handed, int) else None
        if isinstance(handed, tuple):
            if part is not None and part < len(handed):
                place = handed[part]
            elif part is None and len(node.args) == 1:
                place = 0
        return _argument(node, name, place, module)
    if name in public_names.HANDED_THROUGH_ALL:
        place = part if part is not None else (0 if len(node.args) == 1 else None)
        if place is not None and place < len(node.args):
            return _argument(node, name, place, module)
    return None


def _returned(
    module: Module, function: ast.AST, program: Program, part: int | None
) -> Iterator[Meaning]:
    scope = module.scopes.get(function)
    if scope is None or scope.generator:
        return
    for statement in scope.returns:
        value = statement.value
        if value is None:
            continue
        if part is None:
            yield from meanings_of(value, module)
        elif isinstance(value, ast.Tuple) and part < len(value.elts):
            yield from meanings_of(value.elts[part], module)
        elif isinstance(value, ast.Call):
            yield from results_of(value, module, program, part)


def _argument(node: ast.Call, name: str, place: int | None, module: Module) -> ast.expr | None:
    if place is None:
        return None
    if place < len(node.args):
        given = node.args[place]
        return None if isinstance(given, ast.Starred) else given
    names = module.call(node).parameters(name)
    if place < len(names):
        for keyword in node.keywords:
            if keyword.arg == names[place]:
                return keyword.value
    return None


def _special(node: ast.Call, word: str, module: Module, program: Program) -> Iterator[Meaning]:
    if word == "super":
        scope = module.scope_of(node)
        if scope.owner is not None:
            yield from program.bases(scope.owner)
        return
    if len(node.args) >= 2 and isinstance(node.args[1], ast.Constant):
        attribute = node.args[1].value
        if isinstance(attribute, str) and attribute.isidentifier():
            for base in meanings_of(node.args[0], module):
                yield from program.attribute_of(base, attribute, node)


def _dataclass_part(
    node: ast.Call, module: Module, program: Program, part: int
) -> Iterator[Meaning]:
    """Yield the class of `HfArgumentParser((A, B)).parse_args_into_dataclasses()` at a place."""
    if not isinstance(node.func, ast.Attribute):
        return
    for parser in meanings_of(node.func.value, module):
        if parser.call is None or parser.module is None or not parser.call.args:
            continue
        given = parser.call.args[0]
        listed = given.elts if isinstance(given, ast.Tuple | ast.List) else [given]
        if part < len(listed):
            for meaning in meanings_of(listed[part], parser.module):
                yield Meaning(meaning.name, "instance", node, module)
