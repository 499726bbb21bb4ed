"""Steps with a tape that give a model inputs in bfloat16."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.readers.python.library_calls import calls_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program


def half_inputs(program: Program) -> Iterator[Call]:
    """Yield the casts to bfloat16 of what a function passes to a model under a tape.

    A model in float32 would cast them back: such a cast means that the model runs in bfloat16.
    """
    for name, call in calls_of(program):
        named = [keyword.value for keyword in call.node.keywords if keyword.arg == "dtype"]
        types = [call.module.resolve(given) for given in (*call.node.args[1:2], *named)]
        if name != "tensorflow.cast" or not any(each.endswith("bfloat16") for each in types):
            continue
        around = call.module.enclosing(call.node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)
        assert around is not None
        match call.module.parent(call.node):
            case ast.Assign(targets=[ast.Name(id=target)]):
                if _is_modelled(target, around, call.node.lineno):
                    yield call


def _is_modelled(name: str, around: ast.AST, line: int) -> bool:
    """Whether a variable is the first argument of a call under a tape: `model(x)`."""
    for node in walk(around):
        match node:
            case ast.With(items=[ast.withitem(context_expr=ast.Call(func=tape)), *_]):
                taped = walk(node) if identifier(tape) == "GradientTape" else []
            case _:
                continue
        for inner in taped:
            match inner:
                case ast.Call(args=[ast.Name(id=given), *_]) if given == name:
                    if inner.lineno > line and identifier(inner.func) != "cast":
                        return True
    return False
