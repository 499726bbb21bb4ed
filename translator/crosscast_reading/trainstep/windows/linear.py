"""Conditions taken apart: `(step + 1) % n == 0` is counter, offset, divisor and remainder."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

Ordering = Literal["==", "!=", ">=", ">", "<", "<="]

_OPS: dict[type[ast.cmpop], Ordering] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.GtE: ">=",
    ast.Gt: ">",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Is: "==",
    ast.IsNot: "!=",
}
_SWAPPED: dict[Ordering, Ordering] = {
    "==": "==",
    "!=": "!=",
    ">=": "<=",
    ">": "<",
    "<": ">",
    "<=": ">=",
}


@dataclass(frozen=True, slots=True)
class Linear:
    """`core + offset`."""

    core: ast.expr
    offset: int


@dataclass(frozen=True, slots=True)
class Remainder:
    """`(counter + offset) % divisor == remainder`, or `!=` (not `equal`)."""

    counter: Linear
    divisor: ast.expr
    remainder: int | None
    """-1 for `divisor - 1`; None if it is neither that nor a number."""
    equal: bool
    never: bool = False
    """Whether the remainder is the divisor itself, which cannot be."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left (op) right` of two linear expressions."""

    left: Linear
    op: Ordering
    right: Linear

    def swapped(self) -> Comparison:
        """Return it with the sides exchanged."""
        return Comparison(self.right, _SWAPPED[self.op], self.left)


def bare(node: ast.expr) -> ast.expr:
    """Drop `int()`, `bool()` and the like around an expression."""
    while (
        isinstance(node, ast.Call)
        and len(node.args) == 1
        and not node.keywords
        and isinstance(node.func, ast.Name)
        and node.func.id in ("int", "bool", "float")
    ):
        node = node.args[0]
    return node


def linear(node: ast.expr) -> Linear:
    """Return an expression as something plus a whole number."""
    node = bare(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        sign = 1 if isinstance(node.op, ast.Add) else -1
        right = _whole(node.right)
        if right is not None:
            inner = linear(node.left)
            return Linear(inner.core, inner.offset + sign * right)
        left = _whole(node.left)
        if left is not None and sign == 1:
            inner = linear(node.right)
            return Linear(inner.core, inner.offset + left)
    return Linear(node, 0)


def _whole(node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


def take_apart(node: ast.expr) -> Remainder | Comparison | None:
    """Return the remainder or comparison that a condition without `not`, `and`, `or` tests."""
    node = bare(node)
    if isinstance(node, ast.Call) and len(node.args) == 2 and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("equal", "not_equal"):  # tf.equal(step % n, 0)
            kind: Ordering = "==" if node.func.attr == "equal" else "!="
            return _compared(node.args[0], kind, node.args[1])
        return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _remainder(node, ast.Constant(0), equal=False)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    op = _OPS.get(type(node.ops[0]))
    if op is None:
        return None
    return _compared(node.left, op, node.comparators[0])


def _compared(left: ast.expr, op: Ordering, right: ast.expr) -> Remainder | Comparison | None:
    for operand, other, sign in ((left, right, op), (right, left, _SWAPPED[op])):
        inner = bare(operand)
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mod):
            if isinstance(inner.left, ast.Constant):  # a format string
                return None
            whole = _whole(other)
            if sign in ("==", "!="):
                return _remainder(inner, other, equal=sign == "==")
            if sign == "<" and whole == 1:
                return _remainder(inner, ast.Constant(0), equal=True)
            if (sign == ">" and whole == 0) or (sign == ">=" and whole == 1):
                return _remainder(inner, ast.Constant(0), equal=False)
            if sign in (">=", "<") and linear(other).offset == -1:
                return _remainder(inner, other, equal=sign == ">=")
            return None
    return _misplaced(left, op, right) or Comparison(linear(left), op, linear(right))


def _misplaced(left: ast.expr, op: Ordering, right: ast.expr) -> Remainder | None:
    """`step + 1 % n == 0`, which means `step + (1 % n) == 0`: never true where n is above 1."""
    match left, right:
        case (
            ast.BinOp(
                left=counter,
                op=ast.Add(),
                right=ast.BinOp(left=ast.Constant(value=int(one)), op=ast.Mod(), right=divisor),
            ),
            ast.Constant(value=0),
        ) if op in ("==", "!=") and one > 0 and not isinstance(divisor, ast.Constant):
            return Remainder(linear(counter), divisor, None, op == "==", never=True)
    return None


def _remainder(node: ast.BinOp, other: ast.expr, *, equal: bool) -> Remainder:
    number = _whole(other)
    never = False
    if number is None:
        against = linear(other)
        same = ast.dump(against.core) == ast.dump(bare(node.right))
        if same and against.offset == -1:
            number = -1
        never = same and against.offset == 0
    else:
        divisor = _whole(node.right)
        never = divisor is not None and number >= divisor
        if divisor is not None and number == divisor - 1 and divisor > 1:
            number = -1
    return Remainder(linear(node.left), node.right, number, equal, never)
