"""CL723: infinite gradients become zeros before the loss scale sees them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.readers.python.library_calls import calls_of, plain
from crosscast_reading.readers.python.value_flow import flow_of
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import program_of
from crosscast_tensorflow.reading.gradient_sums import computes_gradients, gradient_flow
from crosscast_tensorflow.reading.keras import scaler_calls, scales_by_hand

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module


_LOSS = re.compile(r"loss|cost", re.I)
_SCALES = ("get_scaled_loss", "scale_loss")
_ALWAYS = "no step is skipped, the scale only grows"
_WITH_LOSS = (
    "where the loss is not finite, no step is skipped, so that momentum still moves weights"
)


def check(subject: Subject) -> Iterator[Finding]:
    """Find updates of scaled losses whose gradients have lost their infinities."""
    program = program_of(subject)
    if program is None:
        return
    scaled = {(call.module, call.receiver_text) for call in scales_by_hand(program)}
    if not scaled or any(plain(c.argument("dynamic")) is False for _, c in scaler_calls(program)):
        return
    seen: set[ast.AST] = set()
    for _, call in calls_of(program):
        if call.method not in ("apply_gradients", "apply") or not call.node.args:
            continue
        if (call.module, call.receiver_text) not in scaled:
            continue
        for part, module in gradient_flow(call.node.args[0], call.module):
            asked = _hides_overflow(part, module) if part not in seen else None
            if asked is None:
                continue
            of_gradients = any(computes_gradients(n) for n, _ in gradient_flow(asked, module))
            if not of_gradients and not _is_loss(asked, module, call):
                continue
            seen.add(part)
            yield Finding(
                span=module.span(part),
                message=f"{call.receiver_text} looks for infinite gradients to lower the loss "
                f"scale, and here they become zeros: {_ALWAYS if of_gradients else _WITH_LOSS}",
                hint="leave them as they are: the optimizer skips the step",
                related=(call.module.span(call.node),),
            )


def _hides_overflow(node: ast.AST, module: Module) -> ast.expr | None:
    """Return the value tested for being finite, if the test decides between a gradient and 0.

    As `g` of `tf.where(is_finite(g), g, 0)`, or the loss: `tf.where(is_finite(loss), g, 0)`.
    """
    match node:
        case ast.Call(func=function, args=[test, kept, other]) if identifier(function) == "where":
            hides = _has_zero(other) and not _has_zero(kept)
            return _asked(test, module) if hides else None
    return None


def _is_loss(asked: ast.expr, module: Module, applied: Call) -> bool:
    """Whether an expression is the loss, or is named so, whose gradients are applied."""
    names = {
        (n.id, module.function_of(n))
        for n in walk(asked)
        if isinstance(n, ast.Name) and _LOSS.search(n.id)
    }
    for part, where in flow_of(applied.node.args[0], applied.module, _is_before_tape):
        if not computes_gradients(part) or not isinstance(part, ast.Call):
            continue
        for loss in part.args[:1]:
            for node, home in flow_of(
                loss, where, lambda call, _: identifier(call.func) in _SCALES
            ):
                if isinstance(node, ast.Name) and (node.id, home.function_of(node)) in names:
                    return True
    return False


def _is_before_tape(call: ast.Call, _: Module) -> bool:
    return identifier(call.func) == "get_unscaled_gradients" or not computes_gradients(call)


def _has_zero(node: ast.expr) -> bool:
    return any(
        (isinstance(part, ast.Constant) and part.value == 0)
        or (isinstance(part, ast.Call) and identifier(part.func) in ("zeros_like", "zeros"))
        for part in walk(node)
    )


def _asked(test: ast.expr, module: Module) -> ast.expr | None:
    """Return `x` of the test `is_finite(x)`, also behind a name or in `reduce_all`."""
    match test:
        case ast.Call(func=function, args=[of]) if identifier(function) == "is_finite":
            return of
        case ast.Call(func=function, args=[inner, *_]) if identifier(function) == "reduce_all":
            return _asked(inner, module)
        case ast.Name():
            bound = definitions(test, module)
            if len(bound) == 1 and bound[0].kind == "assign" and bound[0].value is not None:
                return _asked(bound[0].value, bound[0].module)
    return None


RULE = Rule("CL723", check, hints=("is_finite",))
