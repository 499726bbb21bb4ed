"""Window tests without `and`, `or`, `not`: remainders and comparisons of counters."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.trainstep.events import WindowTest
from crosscast_reading.trainstep.frames.expression_keys import key_of
from crosscast_reading.trainstep.frames.frame import CallFrame, counter_name
from crosscast_reading.trainstep.frames.loops import LoopHead
from crosscast_reading.trainstep.frames.object_kinds import last_name
from crosscast_reading.trainstep.windows.counters import Change, Life, life_of
from crosscast_reading.trainstep.windows.first_values import any_precedes, counter_path, start_of
from crosscast_reading.trainstep.windows.linear import Comparison, Remainder, take_apart


def atom(node: ast.expr, frame: CallFrame, heads: Sequence[LoopHead]) -> WindowTest | None:
    """Return the window test that a condition without `and`, `or`, `not` is."""
    parts = take_apart(node)
    if isinstance(parts, Remainder):
        return _by_remainder(node, parts, frame, heads)
    if isinstance(parts, Comparison):
        return _by_comparison(node, parts, frame, heads) or _by_comparison(
            node, parts.swapped(), frame, heads
        )
    return None


def _by_remainder(
    node: ast.expr, parts: Remainder, frame: CallFrame, heads: Sequence[LoopHead]
) -> WindowTest | None:
    divisor = parts.divisor
    start, facts = start_of(parts.counter, frame, heads, node)
    gap: int | None = None
    if start is not None and parts.remainder is not None:
        gap = start + parts.counter.offset - 1 - parts.remainder
        if isinstance(divisor, ast.Constant) and type(divisor.value) is int and divisor.value > 0:
            gap = _nearest(gap, divisor.value)
    return replace(
        _test(node, parts.counter.core, divisor, gap, frame, never=parts.never),
        positive=parts.equal,
        never_again=parts.never or facts.never_again,
        impossible=parts.never,
        restarts=facts.restarts,
        by_remainder=True,
    )


def _nearest(gap: int, n: int) -> int:
    """Return a gap of the same meaning for windows of n: 0 if it divides, else as written."""
    return 0 if gap % n == 0 else gap


def _by_comparison(
    node: ast.expr, parts: Comparison, frame: CallFrame, heads: Sequence[LoopHead]
) -> WindowTest | None:
    name = counter_path(parts.left.core)
    if not name:
        return _since_last(node, parts, frame, heads)
    op, offset = parts.op, parts.right.offset
    positive = op in ("==", ">=", ">")
    if op in (">", "<="):
        offset += 1
    for head in reversed(heads):
        counter = head.counter(name)
        if counter is None:
            continue
        if counter.period is None or counter.start is None:
            return None
        length = key_of(counter.period, head.frame)
        constant = parts.right.core
        if (
            op in ("==", "!=")
            and isinstance(constant, ast.Constant)
            and length != repr(constant.value)
        ):
            if constant.value != counter.start + parts.left.offset - parts.right.offset:
                return None
            test = _test(node, parts.left.core, counter.period, 0, head.frame)
            return replace(test, positive=positive, opens=True, restarts=True)
        if length != key_of(parts.right.core, frame):
            return None
        gap = counter.start + parts.left.offset - offset - 1
        test = _test(node, parts.left.core, counter.period, gap, head.frame, modular=False)
        return replace(test, positive=positive, restarts=True)
    if not heads:
        return None
    life = life_of(name, heads[-1].loop.node, frame)
    if not life.grows:
        return _by_turns(node, parts, life, frame)
    before = any_precedes(life.grows, node, frame)
    if not life.resets:
        small = isinstance(parts.right.core, ast.Constant) and parts.right.core.value in (0, 1)
        if op != "==" or life.before is None or small:
            return None
        return replace(
            _test(node, parts.left.core, parts.right.core, None, frame), never_again=True
        )
    start = life.before if life.before is not None else life.resets[0].to
    gap_ = None
    if start is not None and before is not None:
        gap_ = start + before + parts.left.offset - offset - 1
    test = _test(node, parts.left.core, parts.right.core, gap_, frame, modular=False)
    return replace(test, positive=positive, restarts=life.per_epoch)


def _by_turns(node: ast.expr, parts: Comparison, life: Life, frame: CallFrame) -> WindowTest | None:
    """`counter == 0` behind `counter = (counter + 1) % n`."""
    zero = isinstance(parts.right.core, ast.Constant) and parts.right.core.value == 0
    if len(life.resets) != 1 or not zero or parts.op not in ("==", "!=") or parts.right.offset:
        return None
    turn = life.resets[0].node
    match turn:
        case ast.Assign(
            value=ast.BinOp(
                left=ast.BinOp(left=counter, op=ast.Add(), right=ast.Constant(value=1)),
                op=ast.Mod(),
                right=length,
            )
        ) if ast.unparse(counter) == ast.unparse(parts.left.core):
            pass
        case _:
            return None
    if parts.left.offset or not any_precedes((Change(turn, add=1),), node, frame):
        return None
    test = _test(node, parts.left.core, length, life.before, frame)
    return replace(test, positive=parts.op == "==", restarts=life.per_epoch)


def _since_last(
    node: ast.expr, parts: Comparison, frame: CallFrame, heads: Sequence[LoopHead]
) -> WindowTest | None:
    """`i - last_step >= n`, where `last_step = i` follows the step."""
    core = parts.left.core
    if not (isinstance(core, ast.BinOp) and isinstance(core.op, ast.Sub)) or not heads:
        return None
    last = counter_path(core.right)
    if not last or parts.op not in (">=", "==", "<", ">"):
        return None
    life = life_of(last, heads[-1].loop.node, frame)
    if not any(reset.to is None for reset in life.resets):
        return None
    test = _test(node, core.left, parts.right.core, None, frame)
    return replace(test, positive=parts.op != "<")


def _test(
    node: ast.expr,
    counter: ast.expr,
    steps: ast.expr,
    gap: int | None,
    frame: CallFrame,
    *,
    never: bool = False,
    modular: bool = True,
) -> WindowTest:
    """Return the test of a counter that is `gap` too high (or low) for whole windows."""
    text = frame.module.text(steps)
    value: Value = frame.value(steps)
    first, length = None, ""
    if gap is not None and not never:
        first = -gap if modular or gap == 0 else None
        if gap < 0 and modular:
            length = str(-gap)
        elif gap:
            length = f"{text} {'-' if gap > 0 else '+'} {abs(gap)}"
            if isinstance(value, Known) and type(value.value) is int and value.value > gap:
                length = str(value.value - gap)
    return WindowTest(
        node=node,
        counter=counter_name(counter, frame) or last_name(counter),
        steps=value,
        steps_text=text,
        first=first,
        aligned=None if gap is None else gap == 0 and not never,
        key=key_of(steps, frame),
        first_length=length,
    )
