"""Texts that are equal for expressions that mean the same number."""

from __future__ import annotations

import ast

from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.trainstep.frames.frame import (
    MAX_HOPS,
    CallFrame,
    Reference,
    canonical,
    is_path,
)


def key_of(node: ast.expr, frame: CallFrame, depth: int = 0) -> str:
    """Return a text that is equal for expressions that mean the same number.

    Names are followed through simple assignments and arguments, casts and parentheses dropped.
    """
    if depth > MAX_HOPS:
        return frame.module.text(node)
    match node:
        case ast.Name(id=name):
            reference = frame.find(name)
            if reference is not None and _follow(reference, name, frame):
                return key_of(reference.node, reference.frame, depth + 1)
            return canonical(node, frame, depth)
        case ast.Attribute(value=value, attr=attr):
            return f"{key_of(value, frame, depth + 1)}.{attr}"
        case ast.Constant(value=value):
            return repr(value)
        case ast.Call(func=ast.Name(id="int" | "float" | "max"), args=[first, *_]):
            return key_of(first, frame, depth + 1)
        case ast.Call(func=ast.Attribute(attr="cast" | "to_float"), args=[first, *_]):
            return key_of(first, frame, depth + 1)
        case ast.BinOp(left=left, op=op, right=right):
            sign = _SIGNS.get(type(op), "?")
            return f"({key_of(left, frame, depth + 1)}{sign}{key_of(right, frame, depth + 1)})"
    return frame.module.text(node)


_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}


def _follow(reference: Reference, name: str, frame: CallFrame) -> bool:
    """Whether the value of a name is more informative than the name."""
    if reference.frame is frame and name in {
        node.id for node in walk(reference.node) if isinstance(node, ast.Name)
    }:
        return False
    return is_path(reference.node) or isinstance(reference.node, ast.Constant | ast.BinOp)
