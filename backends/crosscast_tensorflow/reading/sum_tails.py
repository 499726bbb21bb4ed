"""What becomes of a short last window of a sum of gradients, where a variable counts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.readers.python.library_calls import canonical, last
from crosscast_tensorflow.reading.cleared_sums import Place, zeroing
from crosscast_tensorflow.reading.gradient_sums import GradientSum
from crosscast_tensorflow.reading.still_counters import is_zero
from crosscast_tensorflow.reading.sum_windows import bare_counter, window_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_STEPS = ("get_global_step", "get_or_create_global_step", "create_global_step")


def carried_over(sums: Sequence[GradientSum]) -> Place | None:
    """Return the test of a window whose counter and sum outlive an epoch.

    The counter is a variable of TensorFlow; if nothing but the end of a window sets it or the sum
    to zero, the next epoch goes on with what is left.
    """
    for total in sums[:1]:
        window = window_of(total)
        if window is None or window.never:
            return None
        counter = bare_counter(window.counter)
        if not _is_variable(counter, window.module):
            return None
        cleared = list(_cleared(counter, window.module))
        if len(cleared) > (0 if window.repeats else 1):
            return None
        places = [*cleared, *(call.node for call in zeroing(total))]
        if all(_is_once(node, window.module) for node in places):
            return "carried_over", window.module.span(window.test)
    return None


def _is_variable(counter: ast.expr, module: Module) -> bool:
    """Whether an expression is a variable of TensorFlow that the program makes or asks for."""
    match counter:
        case ast.Attribute(attr="iterations"):
            return True
        case ast.Name() | ast.Attribute():
            bound = definitions(counter, module)
        case _:
            return False
    value = bound[0].value if len(bound) == 1 and bound[0].kind == "assign" else None
    if not isinstance(value, ast.Call) or bound[0].path:
        return False
    made = canonical(bound[0].module.call(value).name)
    return made.startswith("tensorflow.") and last(made) in ("Variable", *_STEPS)


def _cleared(counter: ast.expr, module: Module) -> Iterator[ast.AST]:
    """Yield where the program sets a counter to zero."""
    for each in module.program.modules:
        for node in each.nodes:
            match node:
                case ast.Call(func=ast.Attribute(value=of, attr="assign"), args=[value]):
                    pass
                case ast.Call(func=ast.Attribute(attr="assign"), args=[of, value, *_]):
                    pass
                case _:
                    continue
            if identifier(of) == identifier(counter) and not _is_next(value, of):
                yield node


def _is_next(value: ast.expr, counter: ast.expr) -> bool:
    """Whether it is only advanced: `count.assign(count + 1)`."""
    match value:
        case ast.BinOp(left=left, op=ast.Add()):
            return ast.dump(left) == ast.dump(counter) and not is_zero(value.right)
    return False


def _is_once(node: ast.AST, module: Module) -> bool:
    """Whether the function of a node is named at one place at most."""
    function = next(
        (where.function_of(node) for where in module.program.modules if node in where.parents), None
    )
    if function is None:
        return True
    named = [
        use
        for where in module.program.modules
        for use in where.nodes
        if isinstance(use, ast.Name | ast.Attribute) and identifier(use) == function.name
        if isinstance(use.ctx, ast.Load)
    ]
    return len(named) <= 1
