"""CL712: gradients of a tape are clipped while they are multiplied by the loss scale."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import literals
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.readers.python.conditions import conditions
from crosscast_reading.readers.python.module_words import function_calls
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.reading.gradient_sums import gradient_flow
from crosscast_tensorflow.reading.keras import scales_by_hand
from crosscast_tensorflow.reading.loops import gradient_clips, is_used

_OF_KERAS_3 = frozenset({"scale_loss", "initial_scale", "dynamic_scale"})
"""What LossScaleOptimizer of Keras 3 has to do with its scale: there is no `loss_scale`."""

_UNSCALES = "get_unscaled_gradients"


def check(subject: Subject) -> Iterator[Finding]:
    """Find clips between the scaling of the loss and the unscaling of its gradients."""
    program = subject.program
    scaled = {call.node: call for call in scales_by_hand(program)}
    for _kind, clip in gradient_clips(program):
        module = clip.module
        function: ast.AST = module.function_of(clip.node) or module.tree
        calls = function_calls(function, module)
        mine = [call for call in calls if call.node in scaled and _reaches(call, clip)]
        if not mine or not is_used(clip):
            continue
        wrong = [scale for scale in mine if _is_scaled(clip, scale, calls)]
        if not wrong:
            continue
        unscaled = any(call.method == _UNSCALES for call in calls)
        yield Finding(
            span=module.span(clip.node),
            message="the gradients are still multiplied by the loss scale when they are clipped"
            + (" with Keras 3" if len({call.method for call in mine}) > 1 else ""),
            hint="clip the gradients returned by get_unscaled_gradients"
            if unscaled and wrong[0].method != "scale_loss"
            else "pass the limit to the optimizer: global_clipnorm=..., which clips unscaled "
            "gradients",
            related=(wrong[0].module.span(wrong[0].node),),
        )


def _is_scaled(clip: Call, scale: Call, calls: list[Call]) -> bool:
    """Whether the gradients of a loss that a call has scaled are clipped before they are unscaled.

    Args:
        clip: the clip.
        scale: the call that scales the loss.
        calls: of the function, in the order of the text.
    """
    in_keras_3 = scale.method == "scale_loss"
    if in_keras_3 and _unscales(clip):
        return False
    out = [
        call
        for call in calls
        if call.method == _UNSCALES and not (in_keras_3 and _is_of_keras_2(call.node, call.module))
    ]
    if any(_before(event, clip) for event in out):
        return False
    applied = any(
        call.method in ("apply", "apply_gradients") and _before(clip, call) for call in calls
    )
    return bool(out) or (applied and in_keras_3)


def _reaches(scale: Call, clip: Call) -> bool:
    """Whether a scaled loss can precede the clip, under compatible conditions."""
    if not _before(scale, clip):
        return False
    against = {(text, not holds) for text, holds in _conditions(clip)}
    return not against & _conditions(scale)


def _conditions(call: Call) -> set[tuple[str, bool]]:
    """Return the conditions around a call with their values there."""
    tests = conditions(call.node, call.module, callers=False)
    return {literal for test in tests for literal in literals(test.node, test.holds)}


def _unscales(clip: Call) -> bool:
    """Whether the clipped gradients of a scaled loss of Keras 3 may be divided by the scale."""
    given = next(iter(clip.node.args), None)
    for part, module in gradient_flow(given, clip.module) if given is not None else ():
        divides = isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div | ast.Mult)
        named = isinstance(part, ast.Call) and "unscal" in identifier(part.func)
        if (divides or named) and not _is_of_keras_2(part, module):
            return True
    return False


def _is_of_keras_2(node: ast.AST, module: Module) -> bool:
    """Whether code only runs if an optimizer has what that of Keras 3 for loss scaling has not."""
    for condition in conditions(node, module, callers=False):
        match condition.node:
            case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=str(name))]):
                if condition.holds and "scale" in name and name not in _OF_KERAS_3:
                    return True
    return False


def _before(call: Call, other: Call) -> bool:
    first, second = call.node, other.node
    return (first.lineno, first.col_offset) < (second.lineno, second.col_offset)


RULE = Rule("CL712", check, hints=("clip_by",))
