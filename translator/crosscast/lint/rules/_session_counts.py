"""Counters of micro-batches in TensorFlow: where they begin, and when sessions advance them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast.pysource.names.containers import definitions
from crosscast.pysource.syntax.nodes import identifier, keyword, walk
from crosscast.readers.tensorflow.gradient_sums import GradientSum
from crosscast.readers.tensorflow.session_runs import runs_of
from crosscast.readers.tensorflow.sum_windows import SumWindow, increases

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Module


def starts_at_zero(counter: ast.expr, module: Module) -> bool:
    """Whether every value that a counter is created with is 0."""
    created = [b.assigned for b in definitions(counter, module) if b.assigned is not None]
    match counter:
        case ast.Attribute(attr="iterations") if not created:
            return True
    return {_is_zero(value) for value in created} == {True}


def _is_zero(node: ast.expr | None) -> bool:
    match node:
        case ast.Constant(value=0 | 0.0):
            return True
        case ast.Call(args=[first, *_]):
            return _is_zero(first)
        case ast.Call():
            return _is_zero(keyword(node, "initial_value"))
    return False


def first_of_sessions(window: SumWindow, total: GradientSum) -> str:
    """Return the first window in words, if a variable counts micro-batches from 1.

    One run of a session adds gradients and advances the variable, which is read and compared with
    `n - 1` after it. Empty if the window is right or unknown.
    """
    module, length = window.module, window.module.text(window.length)
    match module.parent(window.test):
        case ast.Compare(ops=[ast.Eq()], comparators=[ast.BinOp(left, ast.Sub(), by)]):
            before_last = module.text(left) == length and module.text(by) == "1"
        case _:
            before_last = False
    variable = _variable_of(window.counter, module)
    if not window.repeats or not before_last or variable is None:
        return ""
    applied, program = total.applied, module.program
    if applied is None or _counts_updates(applied):
        return ""
    advanced = list(increases(variable, module))
    if len(advanced) != 1 or not starts_at_zero(variable, module):
        return ""
    together = [call for call, nodes in runs_of(total.node, program) if advanced[0] in nodes]
    if len(together) != 1 or not _is_before(together[0], window):
        return ""
    return f"{length} - 1 micro-batches"


def _variable_of(counter: ast.expr, module: Module) -> ast.expr | None:
    """Return the variable that a session was asked for: `n = session.run(count)`."""
    bound = definitions(counter, module)
    match bound[0].value if len(bound) == 1 else None:
        case ast.Call(func=function, args=[*_, (ast.Name() | ast.Attribute()) as variable]):
            return variable if identifier(function) in ("global_step", "run") else None
    return None


def _counts_updates(applied: Call) -> bool:
    """Whether the update advances a counter of its own."""
    return len(applied.node.args) > 1 or keyword(applied.node, "global_step") is not None


def _is_before(run: Call, window: SumWindow) -> bool:
    """Whether a loop runs something before it reads the counter of a window."""
    module, program = window.module, window.module.program
    bound = definitions(window.counter, module)[0].node
    loop = module.enclosing(bound, ast.For, ast.While)
    function = run.module.function_of(run.node)
    if loop is None:
        return False
    sites = [site.node for site in program.sites(run.module, function)] if function else []
    first = next((node for node in walk(loop) if node in (run.node, *sites)), bound)
    return first.lineno < bound.lineno  # type: ignore[attr-defined, no-any-return]
