"""Three-valued truth: a condition is met, is not met, or (None) is not known.

`and`, `or` and `not` are those of Kleene's logic: `False and unknown` is False, `True and unknown`
is unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeGuard


def negated(answer: bool | None) -> bool | None:
    """Return `not answer`."""
    return None if answer is None else not answer


def joined(answers: Sequence[bool | None], *, decisive: bool) -> bool | None:
    """Return `answers[0] or answers[1] or …` if True is decisive, and their `and` if False is."""
    if decisive in answers:
        return decisive
    return None if None in answers else not decisive


def is_met(answer: bool | None, holds: bool) -> bool | None:
    """Whether a condition is what it has to be: true where it `holds`, else false."""
    return None if answer is None else answer == holds


def is_combination(node: ast.expr) -> TypeGuard[ast.BoolOp | ast.UnaryOp]:
    """Whether a condition is made of others by `and`, `or` or `not`."""
    return isinstance(node, ast.BoolOp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


def of_combination(
    node: ast.BoolOp | ast.UnaryOp, answer: Callable[[ast.expr], bool | None]
) -> bool | None:
    """Return the truth of a combination, from the answers for the conditions it is made of."""
    if isinstance(node, ast.UnaryOp):
        return negated(answer(node.operand))
    return joined([answer(part) for part in node.values], decisive=isinstance(node.op, ast.Or))
