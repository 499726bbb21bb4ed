"""Control flow: skipped statements, and conditions of parts of expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.loops import LoopHead
from crosscast_reading.trainstep.frames.losses import join
from crosscast_reading.trainstep.walk.conditions import PathCondition


def is_main(test: ast.expr) -> bool:
    """Whether it is `__name__ == "__main__"`."""
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
    )


def joined(first: dict[str, object], second: dict[str, object]) -> dict[str, object]:
    """Return the facts known of losses where two branches meet."""
    if first is second or not first:
        return second
    both = dict(second)
    for name, loss in first.items():
        other = both.get(name)
        if other is None:
            both[name] = loss
        elif other is not loss:
            both[name] = join(loss, other)
    return both


def leaves(body: Sequence[ast.stmt], in_loop: bool) -> bool:
    """Whether the rest of the round (or of a function without a loop) is skipped."""
    for statement in body:
        if isinstance(statement, ast.Continue):
            return True
        if isinstance(statement, ast.Return) and not in_loop:
            return True
        if isinstance(statement, ast.If) and all(
            leaves(b, in_loop) for b in (statement.body, statement.orelse)
        ):
            return True
        if isinstance(statement, ast.With) and leaves(statement.body, in_loop):
            return True
    return False


def short_circuits(
    call: ast.Call, around: ast.AST, frame: CallFrame, heads: Iterable[LoopHead]
) -> list[PathCondition]:
    """Return the conditions within an expression: `scheduler and scheduler.step()`."""
    conditions: list[PathCondition] = []
    parents = frame.module.parents
    child: ast.AST = call
    here = parents.get(call)
    while here is not None and here is not around:
        if isinstance(here, ast.BoolOp):
            holds = isinstance(here.op, ast.And)
            for operand in here.values:
                if operand is child:
                    break
                conditions.append(PathCondition(operand, holds, frame, tuple(heads)))
        elif isinstance(here, ast.IfExp) and child is not here.test:
            conditions.append(PathCondition(here.test, child is here.body, frame, tuple(heads)))
        child, here = here, parents.get(here)
    conditions.reverse()
    return conditions
