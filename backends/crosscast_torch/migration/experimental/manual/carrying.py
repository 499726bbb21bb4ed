"""Loops that only copy gradients and weights between half weights and their float32 copies."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import identifier

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_NEUTRAL = frozenset(
    {"detach", "clone", "float", "half", "to", "type", "type_as", "cuda", "contiguous"}
)
"""Methods that copy, move or cast a tensor."""
_FILLED = frozenset({"zeros_like", "empty_like", "new", "new_zeros"})
_PARTS = frozenset({"grad", "data"})


class Carrying:
    """Reads the statements of one loop.

    Args:
        module: that contains it.
        copies: name of the float32 copies.
        weights: the half weights, as they may be written.
        scale: the loss scale, as text.
    """

    def __init__(self, module: Module, copies: str, weights: set[str], scale: str) -> None:
        self._module = module
        self._lists = {copies, *weights}
        self._scale = scale

    def is_carrying(self, loop: ast.For) -> bool:
        """Whether a loop copies gradients or weights one by one, and nothing else."""
        names = [node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)]
        return (
            not loop.orelse
            and self._is_over(loop.iter, len(names))
            and all(self._is_copy(statement, set(names)) for statement in loop.body)
        )

    def _is_over(self, node: ast.expr, count: int) -> bool:
        """Whether a loop runs over the copies, or over both lists side by side."""
        match node:
            case ast.Call(func=ast.Name(id="zip"), args=[first, second], keywords=[]):
                texts = {self._module.text(first), self._module.text(second)}
                return count == 2 and len(texts) == 2 and texts <= self._lists
        return count == 1 and self._module.text(node) in self._lists

    def _is_copy(self, statement: ast.stmt, names: set[str]) -> bool:
        match statement:
            case ast.Pass():
                return True
            case ast.If(test=test, body=body, orelse=orelse):
                return self._is_test(test, names) and all(
                    self._is_copy(part, names) for part in (*body, *orelse)
                )
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as made)], body=body):
                grad = self._module.text(made) == "torch.no_grad()"
                return grad and all(self._is_copy(part, names) for part in body)
            case ast.Assign(targets=[target], value=value):
                return self._is_part(target, names) and self._is_value(value, names)
            case ast.Expr(value=ast.Call() as call):
                return self._is_change(call, names)
        return False

    def _is_test(self, node: ast.expr, names: set[str]) -> bool:
        """Whether a condition only asks whether there is a gradient, or a scale."""
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                return all(self._is_test(value, names) for value in values)
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[right]):
                missing = isinstance(right, ast.Constant) and right.value is None
                return missing and self._is_part(left, names)
            case ast.Compare(ops=[ast.NotEq() | ast.Gt()], comparators=[ast.Constant(value=1)]):
                return self._module.text(node.left) == self._scale
        return self._is_part(node, names)

    def _is_part(self, node: ast.expr, names: set[str]) -> bool:
        """Whether an expression is a weight of the loop, or a part of it."""
        while isinstance(node, ast.Attribute) and node.attr in (*_PARTS, "requires_grad"):
            node = node.value
        return isinstance(node, ast.Name) and node.id in names

    def _is_value(self, node: ast.expr, names: set[str]) -> bool:
        """Whether an expression is a weight or gradient, only cast or unscaled, or a new one."""
        match node:
            case ast.Constant(value=None | True):
                return True
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._is_test(test, names) and all(
                    self._is_value(part, names) for part in (body, orelse)
                )
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._module.text(right) == self._scale and self._is_value(left, names)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._is_inverse(right) and self._is_value(left, names)
            case ast.Call(func=function) if identifier(function) in (*_FILLED, "Variable"):
                return True  # its content is written before it is read
            case ast.Call(func=ast.Attribute(value=inner, attr=word)) if word in _NEUTRAL:
                return self._is_value(inner, names)
            case ast.Call(func=ast.Attribute(value=inner, attr=word), args=[by], keywords=[]):
                return self._divides(word, by) and self._is_value(inner, names)
            case ast.Attribute(value=inner, attr=word) if word in _PARTS:
                return self._is_value(inner, names)
        return isinstance(node, ast.Name) and node.id in names

    def _is_change(self, call: ast.Call, names: set[str]) -> bool:
        """Whether a statement copies, clears or unscales one tensor in place."""
        match call:
            case ast.Call(func=ast.Attribute(value=inner, attr=word), args=args):
                if not self._is_part(inner, names):
                    return False
                if word in ("requires_grad_", "zero_", "detach_"):
                    return True
                if word == "copy_" and args:
                    return self._is_value(args[0], names)
                return len(args) == 1 and not call.keywords and self._divides(word, args[0])
        return False

    def _divides(self, word: str, by: ast.expr) -> bool:
        """Whether a method divides by the scale."""
        if word in ("div", "div_"):
            return self._module.text(by) == self._scale
        return word in ("mul", "mul_") and self._is_inverse(by)

    def _is_inverse(self, node: ast.expr) -> bool:
        match node:
            case ast.BinOp(left=ast.Constant(value=1), op=ast.Div(), right=right):
                return self._module.text(right) == self._scale
        return False
