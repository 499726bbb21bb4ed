"""What the sessions of TensorFlow 1 run: the operations behind the arguments of `session.run`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.value_flow import flow_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

Run = tuple["Call", frozenset[ast.AST]]
_INDEX: WeakKeyDictionary[Program, tuple[Run, ...]] = WeakKeyDictionary()


def session_runs(program: Program) -> tuple[Run, ...]:
    """Return the calls of `run` in a program, each with the nodes of what it computes."""
    runs = _INDEX.get(program)
    if runs is None:
        runs = _INDEX[program] = tuple(
            (call, frozenset(part for part, _ in flow_of(call.node.args[0], module)))
            for module in program.modules
            for call in module.calls
            if call.method == "run" and call.node.args
        )
    return runs


def runs_of(node: ast.AST, program: Program) -> tuple[Run, ...]:
    """Return the calls of `run` that compute an operation."""
    return tuple(run for run in session_runs(program) if node in run[1])


def rounds_of_runs(
    added: ast.AST, applied: ast.AST, program: Program
) -> Iterator[tuple[ast.expr, Module]]:
    """Yield N of `for _ in range(N): session.run(added)` that do not run `applied`."""
    for module in program.modules:
        for loop in module.every(ast.For):
            match loop.iter:
                case ast.Call(func=ast.Name(id="range" | "xrange"), args=[number]):
                    pass
                case _:
                    continue
            inside = set(walk(loop))
            ran = [nodes for call, nodes in session_runs(program) if call.node in inside]
            if any(added in nodes for nodes in ran) and not any(applied in n for n in ran):
                yield number, module
