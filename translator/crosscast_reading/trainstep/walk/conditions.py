"""Guards: conditions that events stand under, with their flags and usual values."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.syntax.truth import is_combination, of_combination
from crosscast_reading.pysource.values import arithmetic
from crosscast_reading.pysource.values.budget import NoValueError
from crosscast_reading.pysource.values.combine import settled as settled_value
from crosscast_reading.pysource.values.value import Instance, Known, Symbol, Unknown, Value
from crosscast_reading.trainstep.events import Guard
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.loops import LoopHead
from crosscast_reading.trainstep.windows.tests import window_of


class PathCondition:
    """A condition on the way to a place; taken apart when an event needs it."""

    __slots__ = ("_guard", "frame", "heads", "holds", "node", "text")

    def __init__(
        self,
        node: ast.expr,
        holds: bool,
        frame: CallFrame,
        heads: Sequence[LoopHead],
        text: str = "",
    ) -> None:
        self.node = node
        self.holds = holds
        self.frame = frame
        self.heads = tuple(heads)
        self.text = text
        self._guard: Guard | None = None

    def guard(self) -> Guard:
        """Return the condition as events carry it."""
        if self._guard is None:
            window = None if self.text else window_of(self.node, self.holds, self.frame, self.heads)
            text = self.text or self.frame.module.text(self.node)
            flags = () if self.text else tuple(dict.fromkeys(flags_of(self.node, self.frame)))
            open_ = not self.text and window is None and not _counts(self.node, self.frame)
            value = truth_of(self.node, self.frame) if open_ else None
            self._guard = Guard(
                node=self.node,
                text=text,
                holds=self.holds,
                window=window,
                flags=flags,
                value=value,
            )
        return self._guard


def _counts(node: ast.expr, frame: CallFrame) -> bool:
    """Whether a condition reads a variable that changes while the program runs."""
    owner = frame.scope.owner
    for part in walk(node):
        if isinstance(part, ast.Name):
            home = frame.scope.lookup(part.id)
            bindings = home.bindings.get(part.id, ()) if home is not None else ()
        elif isinstance(part, ast.Attribute) and owner is not None:
            bindings = owner.attributes.get(part.attr, ())
        else:
            continue
        if any(b.kind in ("augment", "loop") for b in bindings):
            return True
    return False


def flags_of(node: ast.expr, frame: CallFrame, depth: int = 0) -> Iterator[str]:
    """Yield the flags that an expression reads."""
    if isinstance(node, ast.BoolOp):
        for operand in node.values:
            yield from flags_of(operand, frame, depth)
    elif isinstance(node, ast.UnaryOp):
        yield from flags_of(node.operand, frame, depth)
    elif isinstance(node, ast.Compare):
        for operand in (node.left, *node.comparators):
            yield from flags_of(operand, frame, depth)
    elif isinstance(node, ast.BinOp):
        yield from flags_of(node.left, frame, depth)
        yield from flags_of(node.right, frame, depth)
    elif isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        value = frame.value(node)
        if isinstance(value, Known) and value.flag:
            yield value.flag
        elif isinstance(value, Unknown):
            if value.origin in ("flag", "config") and value.text:
                yield value.text
            yield from (name for name in value.names if name != value.text)
        if isinstance(node, ast.Name) and depth < 4:
            reference = frame.find(node.id)
            if reference is not None and isinstance(
                reference.node, ast.BoolOp | ast.Compare | ast.UnaryOp
            ):
                yield from flags_of(reference.node, reference.frame, depth + 1)


def truth_of(node: ast.expr, frame: CallFrame, depth: int = 0) -> bool | None:
    """Return the truth of a condition with the defaults of the flags, if that is known."""
    if depth > 8:
        return None
    if is_combination(node):
        return of_combination(node, lambda part: truth_of(part, frame, depth + 1))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        sides = [_default_value(frame.value(side)) for side in (node.left, node.comparators[0])]
        if isinstance(sides[0], Instance | Symbol):
            return _of_object(node, sides[1])
        if not (isinstance(sides[0], Known) and isinstance(sides[1], Known)):
            return None
        return _compared(node.ops[0], sides[0].value, sides[1].value)
    value = _default_value(frame.value(node))
    if isinstance(value, Known):
        return bool(value.value)
    if isinstance(node, ast.Name):
        reference = frame.find(node.id)
        if reference is None or len(frame.all(node.id)) != 1:
            return None
        if isinstance(reference.node, ast.BoolOp | ast.Compare | ast.UnaryOp):
            return truth_of(reference.node, reference.frame, depth + 1)
    return None


def _default_value(value: Value) -> Value:
    """Return a value under the defaults of the flags."""
    value = settled_value(value)
    if isinstance(value, Unknown) and value.has_default:
        return Known(value.default)
    return value


def _compared(op: ast.cmpop, left: object, right: object) -> bool | None:
    try:
        return bool(arithmetic.compare(type(op), left, right))
    except NoValueError:
        return None


def _of_object(node: ast.Compare, right: Value) -> bool | None:
    """What a call made is not None."""
    if isinstance(right, Known) and right.value is None:
        if isinstance(node.ops[0], ast.Is | ast.Eq):
            return False
        if isinstance(node.ops[0], ast.IsNot | ast.NotEq):
            return True
    return None


def settled(node: ast.expr, frame: CallFrame) -> bool | None:
    """Return a condition's truth if literals alone decide it, given by the call that led here."""
    if is_combination(node):
        return of_combination(node, lambda part: settled(part, frame))
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = _literal(node.left, frame), _literal(node.comparators[0], frame)
        if left is None or right is None:
            return None
        return _compared(node.ops[0], left.value, right.value)
    literal = _literal(node, frame)
    return None if literal is None else bool(literal.value)


def _literal(node: ast.expr, frame: CallFrame) -> ast.Constant | None:
    """Return the literal that an expression is, or that the call gives for a parameter."""
    for _ in range(8):
        if isinstance(node, ast.Constant):
            return node
        if not isinstance(node, ast.Name) or node.id in frame.latest or frame.caller is None:
            return None
        given = frame.bound.get(node.id)
        if given is None:
            return None
        node, frame = given.node, given.frame
    return None
