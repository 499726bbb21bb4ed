"""Recognise conditions that are true once a window of micro-batches."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from crosscast_reading.pysource.values.value import Unknown
from crosscast_reading.trainstep.events import WindowTest
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.library_settings import library_steps
from crosscast_reading.trainstep.frames.loops import LoopHead
from crosscast_reading.trainstep.frames.object_kinds import kind_of
from crosscast_reading.trainstep.windows.atoms import atom
from crosscast_reading.trainstep.windows.linear import bare

_LAST = re.compile(
    r"\blen\(|last|final|num_batches|n_batches|steps_per_epoch|num_steps|total|max_step|n_iter|size"
)
_BY_CALLER = re.compile(
    r"(need|do|is|should|will|take|apply|perform)_?(update|step|sync|apply|optim)|update_grad"
    r"|(update|sync|apply|step)_?(now|params|weights|gradients?|optimizer)|^(update|do_apply)$"
    r"|accum\w{0,60}_(end|boundary|done|finished)|boundary|is_accumulat|grad_sync",
    re.I,
)
_CONTINUES = re.compile(r"^(do_|should_)?accumulate(_the)?_?grad(ient)?s?$", re.I)
"""Parameters of functions that say that the window does not end yet."""


def window_of(
    node: ast.expr, holds: bool, frame: CallFrame, heads: Sequence[LoopHead], depth: int = 0
) -> WindowTest | None:
    """Return the window test that follows from a condition being true (or false).

    Args:
        node: the condition.
        holds: what it is.
        frame: where it is written.
        heads: loops around it, outermost first.
        depth: of names followed so far.
    """
    node = bare(node)
    if depth > 8:
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        test = window_of(node.operand, not holds, frame, heads, depth + 1)
        return replace(test, node=node, positive=not test.positive) if test else None
    if isinstance(node, ast.BoolOp):
        return _combined(node, holds, frame, heads, depth)
    if isinstance(node, ast.Compare | ast.BinOp):
        return atom(node, frame, heads) or _against_truth(node, holds, frame, heads, depth)
    if isinstance(node, ast.Call):
        return atom(node, frame, heads) or _library(node, frame)
    if isinstance(node, ast.Name):
        return _named(node, holds, frame, heads, depth)
    if isinstance(node, ast.Attribute):
        return _library(node, frame) or _attribute(node, holds, frame, heads, depth)
    if isinstance(node, ast.IfExp):
        return window_of(node.body, holds, frame, heads, depth + 1)
    return None


def _combined(
    node: ast.BoolOp, holds: bool, frame: CallFrame, heads: Sequence[LoopHead], depth: int
) -> WindowTest | None:
    """`A and W`, `W or the last batch`."""
    every = isinstance(node.op, ast.And) == holds
    for place, operand in enumerate(node.values):
        test = window_of(operand, holds, frame, heads, depth + 1)
        if test is None:
            continue
        if every:
            return replace(test, node=node)
        rest = [o for i, o in enumerate(node.values) if i != place]
        at_end = test.positive == holds
        last = any(_is_last(o, frame) for o in rest)
        if at_end and (last or holds):
            return replace(test, node=node, last=test.last or last)
    return None


def _is_last(node: ast.expr, frame: CallFrame) -> bool:
    """Whether a condition is true at the last batch of an epoch."""
    text = frame.module.text(node)
    match node:
        case ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant(value=0)]):
            return False  # the first batch, or a remainder
    if _LAST.search(text):
        return True
    if isinstance(node, ast.Name):
        reference = frame.find(node.id)
        return reference is not None and (
            isinstance(reference.node, ast.Compare) and _is_last(reference.node, reference.frame)
        )
    sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
    found_sides = [frame.find(side.id) for side in sides if isinstance(side, ast.Name)]
    return any(  # `i + 1 == length`
        definition is not None
        and isinstance(definition.node, ast.Call | ast.BinOp)
        and "len(" in definition.frame.module.text(definition.node)
        for definition in found_sides
    )


def _against_truth(
    node: ast.expr, holds: bool, frame: CallFrame, heads: Sequence[LoopHead], depth: int
) -> WindowTest | None:
    """`is_last == True`, `last is False`."""
    match node:
        case ast.Compare(
            left=inner, ops=[ast.Eq() | ast.Is()], comparators=[ast.Constant(value=bool(truth))]
        ):
            test = window_of(inner, holds == truth, frame, heads, depth + 1)
            if test is None:
                return None
            return test if truth else replace(test, node=node, positive=not test.positive)
    return None


def _named(
    node: ast.Name, holds: bool, frame: CallFrame, heads: Sequence[LoopHead], depth: int
) -> WindowTest | None:
    reference = frame.find(node.id)
    if reference is not None:
        if isinstance(reference.node, ast.Name | ast.Constant) and reference.frame is frame:
            return None
        test = window_of(reference.node, holds, reference.frame, heads, depth + 1)
        if test is not None:
            return replace(test, node=node)
        if not (isinstance(reference.node, ast.Name) or _is_default(node.id, frame)):
            return None
    if _BY_CALLER.search(node.id) and _is_parameter(node.id, frame):
        return _caller_decides(node, node.id)
    if _CONTINUES.search(node.id) and _is_parameter(node.id, frame):
        return replace(_caller_decides(node, node.id), positive=False)
    return None


def _caller_decides(node: ast.expr, text: str) -> WindowTest:
    unknown = Unknown(text, "the caller decides when a window ends", "function_argument")
    return WindowTest(
        node=node,
        counter="",
        steps=unknown,
        steps_text="",
        first=None,
        aligned=None,
        key=f"caller {text}",
        by_caller=True,
    )


def _is_parameter(name: str, frame: CallFrame) -> bool:
    bindings = frame.scope.bindings.get(name, [])
    return bool(bindings) and bindings[0].kind == "parameter"


def _is_default(name: str, frame: CallFrame) -> bool:
    return frame.caller is None and name in frame.bound


def _attribute(
    node: ast.Attribute, holds: bool, frame: CallFrame, heads: Sequence[LoopHead], depth: int
) -> WindowTest | None:
    """`self.is_last`, set before in the same class."""
    owner = frame.scope.owner
    if owner is None or not isinstance(node.value, ast.Name) or node.value.id != frame.self_name:
        return None
    values = [b.value for b in owner.attributes.get(node.attr, []) if b.value is not None]
    tests = [v for v in values if not isinstance(v, ast.Constant)]
    if len(tests) != 1 or not isinstance(tests[0], ast.Compare | ast.BoolOp | ast.UnaryOp):
        return None
    test = window_of(tests[0], holds, frame, heads, depth + 1)
    return replace(test, node=node) if test else None


def _library(node: ast.expr, frame: CallFrame) -> WindowTest | None:
    """`accelerator.sync_gradients`, `engine.is_gradient_accumulation_boundary()`."""
    function = node.func if isinstance(node, ast.Call) else node
    if not isinstance(function, ast.Attribute):
        return None
    if function.attr not in ("sync_gradients", "is_gradient_accumulation_boundary"):
        return None
    steps = library_steps(function.value, frame)
    return WindowTest(
        node=node,
        counter="",
        steps=steps,
        steps_text=frame.module.text(node),
        first=0,
        aligned=True,
        key=kind_of(function.value, frame) or "library",
        last=True,
    )
