"""Functions of a program and where they are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.classes import fields, initializer
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import identifier

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program


def is_mentioned(function: Function, program: Program) -> bool:
    """Whether the name of a function stands anywhere but in its definition, also as text."""
    return any(
        function.name in [getattr(node, word, None) for word in ("id", "attr", "name", "value")]
        for module in program.modules
        for node in module.nodes
        if isinstance(node, ast.Name | ast.Attribute | ast.alias | ast.Constant)
    )


def parameters_of(program: Program, name: str) -> tuple[str, ...]:
    """Return the positional parameters of a function or class of the program, without `self`."""
    scope = program.class_named(name)
    if scope is not None:
        made = initializer(scope)
        return _positional(made[1])[1:] if made else tuple(fields(program, scope))
    definition = program.function_named(name)
    if definition is None and name.endswith(".__call__"):
        definition = program.function_named(name[: -len(".__call__")] + ".forward")
    if definition is None:
        return ()
    inner = definition[0].scopes.get(definition[1])
    names = _positional(definition[1])
    method = inner is not None and inner.parent is not None and inner.parent.is_class
    static = any(
        isinstance(d, ast.Name) and d.id == "staticmethod" for d in definition[1].decorator_list
    )
    return names[1:] if method and not static else names


def _positional(function: Function) -> tuple[str, ...]:
    return tuple(a.arg for a in (*function.args.posonlyargs, *function.args.args))


def call_sites(function: Function, module: Module) -> tuple[Call, ...]:
    """Return the calls of a function, by what they resolve to."""
    program = module.program
    qualname = module.qualname(function)
    name = f"{module.source.name}:{qualname}"
    scope = module.scopes.get(function)
    last = function.name
    made: set[str] = set()
    if last == "__init__" and scope is not None and scope.parent and scope.parent.is_class:
        made = set(_made_by(program).get(function, ()))
    words = {last}
    for called in (last, *(n.rpartition(":")[2].rpartition(".")[2] for n in made)):
        words |= {called, *_aliases(program, called)}
    positions = [position for word in words for position in program.calls_written(word)]
    if len(words) > 1:
        positions.sort()
    calls = (program.modules[place].calls[number] for place, number in positions)
    return tuple(call for call in calls if any(n == name or n in made for n in call.names))


def by_written_name(modules: Sequence[Module]) -> dict[str, list[tuple[int, int]]]:
    """Return the number of the module, and of the call in it, of calls by the name written."""
    positions: dict[str, list[tuple[int, int]]] = {}
    for module_number, module in enumerate(modules):
        for call_number, call in enumerate(module.calls):
            word = identifier(call.node.func)
            positions.setdefault(word, []).append((module_number, call_number))
    return positions


def _made_by(program: Program) -> Mapping[Function, Sequence[str]]:
    """Return the classes whose `__init__` a function is, including subclasses that inherit it."""
    if _made_by in program.kept:
        known: Mapping[Function, Sequence[str]] = program.kept[_made_by]
        return known
    before = program.progress.cuts
    classes: dict[Function, list[str]] = {}
    for module in program.modules:
        for qualname, node in module.classes.items():
            made = initializer(module.scopes[node])
            if made is not None:
                classes.setdefault(made[1], []).append(f"{module.source.name}:{qualname}")
    if program.progress.cuts == before:
        program.kept[_made_by] = classes
    return classes


def _inside(node: ast.AST, function: Function, module: Module) -> bool:
    here = module.parents.get(node)
    while here is not None and here is not function:
        here = module.parents.get(here)
    return here is function


def _aliases(program: Program, name: str) -> Iterator[str]:
    tail = f".{name}"
    for module in program.modules:
        for local, target in module.imports.items():
            if local != name and target.endswith(tail):
                yield local


def arguments_for(parameter: ast.AST, binding: Binding) -> Sequence[tuple[ast.expr, Module]]:
    """Return the arguments that calls pass for a parameter; empty if a call may hide it."""
    function = binding.scope.node
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    if not isinstance(parameter, ast.arg):
        return []
    if parameter in (function.args.vararg, function.args.kwarg):
        return []
    arguments: list[tuple[ast.expr, Module]] = []
    for call in binding.module.program.call_sites(binding.module, function):
        if call.module is binding.module and _inside(call.node, function, call.module):
            continue  # it calls itself
        given = call.bound().get(parameter.arg)
        if given is not None:
            arguments.append((given, call.module.owner_of(given)))
    return arguments
