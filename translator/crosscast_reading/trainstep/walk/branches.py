"""Branches without a condition of their own: handlers of exceptions, cases of a match."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.walk.conditions import PathCondition

if TYPE_CHECKING:
    from crosscast_reading.trainstep.walk.walker import Walker


def attempt(walker: Walker, node: ast.Try | ast.TryStar, frame: CallFrame) -> None:
    """Walk through a `try`; handlers get a separate condition."""
    walker.block(node.body, frame)
    walker.block(node.orelse, frame)
    for handler in node.handlers:
        kind = frame.module.text(handler.type) if handler.type is not None else ""
        marker = handler.type or ast.Constant(value=True, lineno=handler.lineno, col_offset=0)
        text = f"except {kind}".rstrip()
        walker.conditions.append(PathCondition(marker, True, frame, walker.heads, text))
        walker.block(handler.body, frame)
        walker.conditions.pop()
    walker.block(node.finalbody, frame)


def match(walker: Walker, node: ast.Match, frame: CallFrame) -> None:
    """Walk through the cases of a `match`; they exclude each other."""
    walker.expression(node, frame)
    before: list[PathCondition] = []
    for case in node.cases:
        marker = ast.Constant(value=True, lineno=case.body[0].lineno, col_offset=0)
        text = f"case {frame.module.text(case.pattern)}"
        walker.conditions += [*before, PathCondition(marker, True, frame, walker.heads, text)]
        walker.block(case.body, frame)
        del walker.conditions[-len(before) - 1 :]
        before.append(PathCondition(marker, False, frame, walker.heads, text))
