"""Training steps of TensorFlow that surely run without a graph, which nothing can rewrite."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.readers.python.library_calls import calls_of, canonical, last
from crosscast_reading.readers.python.module_words import words_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_GRAPHS = frozenset(
    {
        *("Session", "Estimator", "estimator", "Graph", "v1", "contrib", "placeholder", "minimize"),
        *("disable_eager_execution", "disable_v2_behavior", "compile", "fit", "fit_generator"),
        *("train_on_batch", "defun", "wrap_function", "autograph", "get_concrete_function"),
        *("def_function", "jit", "import_module"),
    }
)
"""Names in programs of which something may run as a graph."""


def eager_tape(program: Program) -> Call | None:
    """Return the first tape of a program whose tapes all run in a plain loop; None if unknown."""
    if any(word in _GRAPHS for module in program.modules for word in words_of(module)):
        return None
    tapes = [call for name, call in calls_of(program) if last(name) == "GradientTape"]
    if not tapes or not all(_is_eager(tape, program) for tape in tapes):
        return None
    return None if any(_compiles(program, tapes)) else tapes[0]


def compiling_names(program: Program) -> Iterator[tuple[ast.expr, Module]]:
    """Yield where a program names `tf.function`, so that something of it runs as a graph."""
    for module in program.modules:
        for node in (*module.every(ast.Name), *module.every(ast.Attribute)):
            named = identifier(node) == "function"
            if named and canonical(module.resolve(node)) == "tensorflow.function":
                yield node, module


def _is_eager(tape: Call, program: Program) -> bool:
    """Whether a loop surely runs a tape, or a function that has it, without a graph."""
    module = tape.module
    function = module.function_of(tape.node)
    if module.enclosing(tape.node, ast.For, ast.While) is not None:
        return function is None or _is_plain(function, module, program)
    if function is None or not _is_plain(function, module, program):
        return False
    sites = program.call_sites(module, function)
    return any(site.module.enclosing(site.node, ast.For, ast.While) for site in sites)


def _compiles(program: Program, tapes: list[Call]) -> Iterator[bool]:
    """Yield for every use of `tf.function` whether a tape may run in it."""
    around = _callers(program, tapes)
    for node, module in compiling_names(program):
        parent = module.parent(node)
        decorated = module.parent(parent) if isinstance(parent, ast.Call) else parent
        own = isinstance(decorated, ast.FunctionDef) and (
            node in decorated.decorator_list or parent in decorated.decorator_list
        )
        yield not own or decorated in around


def _callers(program: Program, tapes: list[Call]) -> set[Function]:
    """Return the functions that have a tape, and all that call one of them."""
    callers: set[Function] = set()
    queue = [(tape.module, tape.module.function_of(tape.node)) for tape in tapes]
    while queue:
        module, function = queue.pop()
        if function is None or function in callers:
            continue
        callers.add(function)
        queue += [
            (site.module, site.module.function_of(site.node))
            for site in program.call_sites(module, function)
        ]
    return callers


def _is_plain(function: Function, module: Module, program: Program) -> bool:
    """Whether nothing wraps a function: it is only called."""
    if function.decorator_list or module.class_of(function) is not None:
        return False
    if module.function_of(function) is not None:
        return False
    called = {call.node.func for call in program.calls()}
    return not any(
        identifier(node) == function.name and isinstance(node.ctx, ast.Load) and node not in called
        for each in program.modules
        for node in each.nodes
        if isinstance(node, ast.Name | ast.Attribute)
    )
