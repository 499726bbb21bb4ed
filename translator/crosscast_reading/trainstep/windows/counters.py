"""What the body of a loop does with a counter: where it grows and where it starts again."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from crosscast_reading.pysource.values.value import Known
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.loops import AnyLoop


@dataclass(frozen=True, slots=True)
class Change:
    """`counter += 1` or `counter = 0`, in the loop."""

    node: ast.stmt
    add: int | None = None
    """By how much it grows; None if it is set."""
    to: int | None = None
    """What it is set to; None if unknown or not set."""


@dataclass(frozen=True, slots=True)
class Life:
    """A counter of the program's own, seen from a loop."""

    before: int | None
    """Its value when the loop starts, if that is a plain number."""
    grows: tuple[Change, ...]
    """Within the loop."""
    resets: tuple[Change, ...]
    """Within the loop."""
    per_epoch: bool | None
    """Whether it is set right before the loop, within the loop around it; None if unknown."""


def life_of(text: str, loop: AnyLoop, frame: CallFrame) -> Life:
    """Return the life of a counter (`step`, `self.global_step`) within and before a loop."""
    changes = _changes(text, frame)
    inside = [c for c in changes if _within(c.node, loop) or _in_method(c.node, loop, frame)]
    before = [c for c in changes if c.add is None and c not in inside and _is_before(c, loop)]
    around = frame.module.enclosing(loop, ast.For, ast.While, ast.AsyncFor)
    function = frame.module.function_of(loop)
    start = None
    per_epoch = None
    if before:
        last = before[-1]
        start = last.to
        nearest = frame.module.enclosing(last.node, ast.For, ast.While, ast.AsyncFor)
        per_epoch = around is not None and _is_around(nearest, around, frame)
        if around is None and function is not None and "epoch" in function.name.lower():
            per_epoch = True
    return Life(
        before=start,
        grows=tuple(c for c in inside if c.add is not None),
        resets=tuple(c for c in inside if c.add is None),
        per_epoch=per_epoch,
    )


def never_moves(name: str, loop: AnyLoop, frame: CallFrame) -> bool:
    """Whether a plain variable keeps the number that it gets before a loop."""
    home = frame.scope.lookup(name)
    bindings = home.bindings.get(name, []) if home is not None else []
    if "." in name or len(bindings) != 1 or bindings[0].scope is not frame.scope:
        return False
    change = _changes(name, frame)
    return len(change) == 1 and change[0].to is not None and _is_before(change[0], loop)


def _is_around(outer: ast.AST | None, inner: ast.AST, frame: CallFrame) -> bool:
    """Whether a loop is another loop, or stands around it: one of epochs around one of files."""
    here: ast.AST | None = inner
    while here is not None and here is not outer:
        here = frame.module.enclosing(here, ast.For, ast.While, ast.AsyncFor)
    return here is not None


def _changes(text: str, frame: CallFrame) -> list[Change]:
    """Return every statement of the function (and those around it) that changes a counter."""
    changes: list[Change] = []
    scope = frame.scope
    if "." in text:
        root, _, attribute = text.rpartition(".")
        if root == scope.self_name and scope.owner is not None:
            bindings = scope.owner.attributes.get(attribute, [])
        else:
            parts = text.split(".")
            bindings = frame.module.path_homes.get((parts[0], tuple(parts[1:])), [])
    else:
        home = scope.lookup(text)
        bindings = home.bindings.get(text, []) if home is not None else []
    for binding in bindings:
        node = binding.node
        if binding.kind == "augment" and isinstance(node, ast.AugAssign):
            sign = 1 if isinstance(node.op, ast.Add) else -1
            by = node.value
            step = by.value if isinstance(by, ast.Constant) and isinstance(by.value, int) else 1
            changes.append(Change(node, add=sign * step))
        elif binding.kind == "assign" and isinstance(node, ast.Assign | ast.AnnAssign):
            changes.append(_assigned(text, node, binding.value, binding.path, frame))
    return sorted(changes, key=lambda c: (c.node.lineno, c.node.col_offset))


def _assigned(
    text: str, node: ast.stmt, value: ast.expr | None, path: tuple[int, ...], frame: CallFrame
) -> Change:
    for place in path:
        if isinstance(value, ast.Tuple | ast.List) and place < len(value.elts):
            value = value.elts[place]
    if isinstance(value, ast.Constant) and isinstance(value.value, int):
        return Change(node, to=int(value.value))
    if isinstance(value, ast.Attribute):  # `step = args.start_step`
        by_default = frame.value(value)
        if isinstance(by_default, Known) and by_default.flag and type(by_default.value) is int:
            return Change(node, to=by_default.value)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        for operand, other in ((value.left, value.right), (value.right, value.left)):
            if frame.module.text(operand) == text and isinstance(other, ast.Constant):
                return Change(node, add=other.value if isinstance(other.value, int) else 1)
    return Change(node)


def _in_method(node: ast.stmt, loop: AnyLoop, frame: CallFrame) -> bool:
    """Whether it stands in a method that the loop may call."""
    module = frame.module
    function, around = module.function_of(node), module.function_of(loop)
    if function is None or function is around or module.class_of(node) is None:
        return False
    return function is frame.function or not re.search(
        r"init|reset|setup|load|resume", function.name
    )


_BEFORE = re.compile(r"init|reset|setup|load|resume")
"""Methods that run before the loop."""


def _is_before(change: Change, loop: AnyLoop) -> bool:
    return change.node.lineno < loop.lineno


def _within(node: ast.stmt, loop: AnyLoop) -> bool:
    first = (loop.lineno, loop.col_offset)
    last = (loop.end_lineno or 0, loop.end_col_offset or 0)
    return first < (node.lineno, node.col_offset) and (
        (node.end_lineno or 0, node.end_col_offset or 0) <= last
    )
