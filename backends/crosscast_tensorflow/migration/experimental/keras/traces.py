"""Which functions TensorFlow traces into one graph."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.library_calls import canonical

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

Place = tuple["Module", ast.AST]


def traced_apart(used: list[Call], applied: list[Call], program: Program) -> Call | None:
    """Return a call in a traced function that reaches none of the other calls, or None.

    Calls of methods are matched by name where their objects are not known.
    """
    inner = {id(call.module.function_of(call.node)) for call in applied}
    if all(id(call.module.function_of(call.node)) in inner for call in used):
        return None
    callers = _callers(program)
    traced = _traced(program)
    reaching = set(inner)
    for call in applied:
        reaching |= {id(node) for node in _above(call.module.function_of(call.node), callers)}
    for call in used:
        function = call.module.function_of(call.node)
        for node in [function, *_above(function, callers)]:
            if node is not None and id(node) in traced and id(node) not in reaching:
                return call
    return None


def _above(function: ast.AST | None, callers: dict[str, list[ast.AST]]) -> list[ast.AST]:
    """Return all functions from which a function may be called."""
    found: dict[int, ast.AST] = {}
    left = [function]
    while left:
        node = left.pop()
        for caller in callers.get(getattr(node, "name", ""), ()):
            if id(caller) not in found:
                found[id(caller)] = caller
                left.append(caller)
    return list(found.values())


def _callers(program: Program) -> dict[str, list[ast.AST]]:
    """Return the functions that name a function, by its name."""
    found: dict[str, list[ast.AST]] = {}
    names = {node.name for module in program.modules for node in module.every(ast.FunctionDef)}
    for module in program.modules:
        for function in module.every(ast.FunctionDef):
            for node in walk(function):
                name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
                if name in names:
                    found.setdefault(name, []).append(function)
    return found


def _traced(program: Program) -> set[int]:
    """Return the ids of functions that become graphs of their own."""
    found: set[int] = set()
    wrapped: set[str] = set()
    for module in program.modules:
        for call in module.calls:
            if any(canonical(name) == "tensorflow.function" for name in call.names):
                for node in call.node.args[:1]:
                    wrapped.add(module.text(node).rpartition(".")[2])
        for function in module.every(ast.FunctionDef):
            for decorator in function.decorator_list:
                made = decorator.func if isinstance(decorator, ast.Call) else decorator
                if canonical(module.resolve(made)) == "tensorflow.function":
                    found.add(id(function))
    for module in program.modules:
        found |= {id(node) for node in module.every(ast.FunctionDef) if node.name in wrapped}
    return found
