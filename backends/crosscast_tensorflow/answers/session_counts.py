"""Counters of micro-batches in TensorFlow: where they begin, and when sessions advance them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import identifier, keyword, walk
from crosscast_tensorflow.reading.gradient_sums import GradientSum
from crosscast_tensorflow.reading.session_runs import runs_of
from crosscast_tensorflow.reading.still_counters import is_zero
from crosscast_tensorflow.reading.sum_windows import SumWindow, increases

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module


def starts_at_zero(counter: ast.expr, module: Module) -> bool:
    """Whether every value that a counter is created with is 0."""
    created = [b.assigned for b in definitions(counter, module) if b.assigned is not None]
    match counter:
        case ast.Attribute(attr="iterations") if not created:
            return True
    return {is_zero(value) for value in created} == {True}


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


def first_of_graph(window: SumWindow, total: GradientSum) -> str:
    """Return the first window in words, if an operation advances the counter behind the test.

    `tf.cond(tf.equal(count % n, 0), ...)` reads 0 in the first run of the graph.
    """
    module, counter, applied = window.module, window.counter, total.applied
    match module.parent(window.test):
        case (
            ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant(value=0)])
            | ast.Call(func=ast.Attribute(attr="equal"), args=[_, ast.Constant(value=0)])
        ):
            pass
        case _:
            return ""
    if not isinstance(counter, ast.Name) or applied is None or _counts_updates(applied):
        return ""
    if not _is_global_step(counter, module) and not starts_at_zero(counter, module):
        return ""
    advanced = list(increases(counter, module))
    if len(advanced) != 1 or _is_awaited(window.test, module):
        return ""
    statement = module.statement_of(advanced[0])
    same = module.function_of(advanced[0]) is module.function_of(window.test)
    behind = statement is not None and statement.lineno > window.test.lineno  # type: ignore[attr-defined]
    return "1 micro-batch" if same and behind else ""


def _is_global_step(counter: ast.Name, module: Module) -> bool:
    """Whether a name is the step of a graph, which begins at 0."""
    match [binding.value for binding in definitions(counter, module)]:
        case [ast.Call(func=function)]:
            return identifier(function) in ("get_global_step", "get_or_create_global_step")
    return False


def _is_awaited(test: ast.AST, module: Module) -> bool:
    """Whether a test waits for other operations: `with tf.control_dependencies([advanced]):`."""
    around = module.enclosing(test, ast.With)
    return isinstance(around, ast.With) and "control_dependencies" in module.text(
        around.items[0].context_expr
    )


def _variable_of(counter: ast.expr, module: Module) -> ast.expr | None:
    """Return the variable that a session was asked for: `n = session.run(count)`."""
    bound = definitions(counter, module)
    match bound[0].value if len(bound) == 1 else None:
        case ast.Call(func=function, args=[*_, (ast.Name() | ast.Attribute()) as variable]):
            return variable if identifier(function) in ("global_step", "run") else None
    return None


def _counts_updates(applied: Call) -> bool:
    """Whether the update advances a counter of its own."""
    given = [*applied.node.args[1:2], keyword(applied.node, "global_step")]
    return not all(value is None or ast.unparse(value) == "None" for value in given)


def _is_before(run: Call, window: SumWindow) -> bool:
    """Whether a loop runs something before it reads the counter of a window."""
    module, program = window.module, window.module.program
    bound = definitions(window.counter, module)[0].node
    loop = module.enclosing(bound, ast.For, ast.While)
    function = run.module.function_of(run.node)
    if loop is None:
        return False
    sites = [site.node for site in program.call_sites(run.module, function)] if function else []
    first = next((node for node in walk(loop) if node in (run.node, *sites)), bound)
    return first.lineno < bound.lineno  # type: ignore[attr-defined, no-any-return]
