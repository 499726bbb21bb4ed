"""CL718: an optimizer for loss scaling gets the gradients of a loss that is not scaled."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.answers.loop import literals
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.readers.python.conditions import branches, conditions_of
from crosscast_reading.readers.python.library_calls import calls_of, last, target_of
from crosscast_reading.readers.python.value_flow import flow_of
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import (
    framework_code,
    program_of,
    scales_losses,
)
from crosscast_tensorflow.reading.eager_steps import compiling_names
from crosscast_tensorflow.reading.gradient_sums import gradient_flow, gradient_sums
from crosscast_tensorflow.reading.keras import scaler_calls, scales_by_hand
from crosscast_tensorflow.rules.keras.keras_loop_not_scaled import unscaled_loops
from crosscast_tensorflow.rules.loss_scaling._unset_switches import unset_switch

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_REWRITE = "enable_mixed_precision_graph_rewrite"
_WRAPPERS = frozenset({"LossScaleOptimizer", "MixedPrecisionLossScaleOptimizer", _REWRITE})
"""What makes an optimizer that scales; the rewrite returns one of the two classes."""
_PLAIN = frozenset({"gradient", "gradients"})
"""Functions that compute gradients of the loss they get."""
_SCALED = re.compile(r"scal(e|ed|er|ing)\b|scaled?_|unscal", re.I)
_SWITCH = re.compile(r"scal|fp_?16|float16|half|mixed|amp\b|amp_|precision", re.I)
_WINDOW = re.compile(r"accum\w{0,60}_(steps?|count|num)|(num|n)_accum|micro_?batches", re.I)
_LIBRARIES = ("tensorflow.", "keras.")
_BY_LIBRARY = frozenset({"minimize", "compile", "fit", "fit_generator", "compute_gradients"})
"""Methods that scale the loss of a wrapped optimizer."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find updates by a wrapped optimizer whose gradients never see the loss scale."""
    program = program_of(subject)
    if program is None or not _runs_in_half(program):
        return
    never = [(call, unset_switch(call.node, call.module)) for call in scales_by_hand(program)]
    if never and all(switch is not None for _, switch in never) and scaler_calls(program):
        yield from _never_scaled(never[0][0], never[0][1])
        return
    if unscaled_loops(program):
        return
    seen: set[ast.AST] = set()
    handed, unscaled_tape = _wrapped_names(program), _no_tape_scales(program)
    for name, call in calls_of(program):
        if call.node in seen or call.method != "apply_gradients" or not call.node.args:
            continue
        wrapper = last(name.removesuffix(".apply_gradients"))
        wrapping = handed.get(identifier(call.receiver) if call.receiver else "")
        if name.startswith(_LIBRARIES) and wrapper in _WRAPPERS:
            source = _unscaled(call)
        elif not name or ":" not in name:
            wrapper = wrapping.method if wrapping is not None else ""
            source = unscaled_tape if wrapper and not name.startswith(_LIBRARIES) else None
        else:
            continue
        if source is None or _is_other_mode(call.node, call.module):
            continue
        if wrapper == _REWRITE:
            if not any(compiling_names(program)):
                continue  # nothing is rewritten
            wrapper = "the optimizer of the graph rewrite"
        if _is_without_wrapper(*source, program):
            continue
        seen.add(call.node)
        gradients, module = source
        same = module.function_of(gradients) is call.module.function_of(call.node)
        span, other = call.module.span(call.node), module.span(gradients)
        if not same:
            span, other = other, span  # an update in a function of its own does not decide
        elif wrapping is not None and wrapping.module is not call.module:
            span, other = wrapping.module.span(wrapping.node), span
        yield Finding(
            span=span,
            message=f"{wrapper} scales the loss in minimize and compute_gradients, not in "
            "apply_gradients: the gradients come from a loss that is not scaled",
            hint="differentiate get_scaled_loss(loss) and apply get_unscaled_gradients(gradients)"
            if name.startswith("keras.")
            else "compute the gradients with compute_gradients of the wrapped optimizer",
            related=(other,),
        )


def _wrapped_names(program: Program) -> dict[str, Call]:
    """Return the names of optimizers that are wrapped wherever they are made, with the wrapping.

    `gen_optimizer = LossScaleOptimizer(...)` in one function, and in a class that is handed one
    `self.gen_optimizer.apply_gradients(...)`.
    """
    wrapped: dict[str, Call] = {}
    plain = set()
    for name, call in calls_of(program):
        target = target_of(call.node, call.module).rpartition(".")[2]
        if last(name) in _WRAPPERS and target:
            wrapped[target] = call
        elif "optim" in name.lower() and last(name)[:1].isupper():
            plain.add((target, call.module.function_of(call.node)))
    places = {
        (target_of(call.node, call.module).rpartition(".")[2], call.module.function_of(call.node))
        for name, call in calls_of(program)
        if last(name) in _WRAPPERS
    }
    alone = {target for target, place in plain if (target, place) not in places}
    return {target: wrapper for target, wrapper in wrapped.items() if target not in alone}


def _no_tape_scales(program: Program) -> tuple[ast.AST, Module] | None:
    """Return the first gradients of tapes if none of a program is of a scaled loss."""
    if scales_losses(program) or any(_scales_itself(*each) for each in calls_of(program)):
        return None
    gradients = [
        (call.node, call.module)
        for name, call in calls_of(program)
        if call.method == "gradient" and "GradientTape" in name
    ]
    return gradients[0] if gradients and not any(_is_scaled(*each) for each in gradients) else None


def _scales_itself(name: str, call: Call) -> bool:
    """Whether a method of an optimizer or model may scale the loss: not `re.compile`."""
    known = name and ":" not in name and not name.startswith(_LIBRARIES)
    return call.method in _BY_LIBRARY and not known


def _never_scaled(call: Call, switch: tuple[str, Call] | None) -> Iterator[Finding]:
    """Report a scaling of the loss under a parameter that is off and that no caller sets."""
    if switch is not None:
        name, caller = switch
        yield Finding(
            span=call.module.span(call.node),
            message=f"the optimizer is wrapped for loss scaling, but the loss is scaled only with "
            f"{name}, which no caller sets",
            hint=f"pass {name}=True where the optimizer is wrapped",
            related=(caller.module.span(caller.node),),
        )


def _runs_in_half(program: Program) -> bool:
    """Whether nothing but float16 can be meant: bfloat16 needs no loss scale."""
    return not any("bfloat16" in code for code in framework_code(program))


def _unscaled(call: Call) -> tuple[ast.AST, Module] | None:
    """Return the computation of the applied gradients, if no scale goes into it or out of it."""
    computation: tuple[ast.AST, Module] | None = None
    program = call.module.program
    parts = gradient_flow(call.node.args[0], call.module)
    for total in gradient_sums(program) if program is not None else ():
        if any(applied.node is call.node for applied in total.every):
            parts += gradient_flow(total.added, total.module)
    for part, module in parts:
        if isinstance(part, ast.Call) and identifier(part.func) in _PLAIN:
            if _is_scaled(part, module):
                return None
            computation = computation or (part, module)
        elif _changes_scale(part):
            return None
    return computation


def _changes_scale(node: ast.AST) -> bool:
    """Whether a node multiplies or divides, or has a name about scaling.

    The mean over the micro-batches of a window takes no scale off.
    """
    match node:
        case ast.BinOp(op=ast.Div(), right=by):
            words = {identifier(part) for part in ast.walk(by) if isinstance(part, ast.expr)}
            return not any(_WINDOW.search(word) for word in words)
        case ast.BinOp(op=ast.Mult()):
            return True
    return isinstance(node, ast.Name | ast.Attribute) and bool(_SCALED.search(identifier(node)))


def _is_scaled(gradients: ast.Call, module: Module) -> bool:
    """Whether a word about scaling is in the flow of a loss.

    A factor alone is a weight: a scale would be taken off the gradients again.
    """
    named = [k.value for k in gradients.keywords if k.arg in ("target", "ys")]
    losses = [*gradients.args[:1], *named]
    if not losses:
        return True
    for part, _ in flow_of(losses[0], module, _changes_a_loss):
        if isinstance(part, ast.Name | ast.Attribute) and _SCALED.search(identifier(part)):
            return True
    return False


def _changes_a_loss(call: ast.Call, module: Module) -> bool:
    """Whether a function gets a loss: what else computes one, a model, scales nothing."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(re.search(r"loss|cost", module.text(argument)) for argument in given)


def _is_other_mode(node: ast.AST, module: Module) -> bool:
    """Whether a condition about precision is false here: the optimizer is then not wrapped."""
    child, here = node, module.parent(node)
    while here is not None:
        if isinstance(here, ast.If) and child is not here.test:
            if _denies(here.test, holds=child in here.body):
                return True
        elif isinstance(here, ast.FunctionDef) and any(map(_refuses, here.body)):
            return True
        child, here = here, module.parent(here)
    return False


def _is_without_wrapper(node: ast.AST, module: Module, program: Program) -> bool:
    """Whether gradients are computed only where no optimizer is wrapped.

    `if args.rtx: optimizer = LossScaleOptimizer(optimizer)`, and `else: tape.gradient(loss, ...)`.
    """
    here = {(test.module.text(test.node), test.holds) for test in branches(node, module)}
    made = [call for name, call in calls_of(program) if last(name) in _WRAPPERS]
    return bool(made) and all(
        any((test.module.text(test.node), not test.holds) in here for test in conditions_of(call))
        for call in made
    )


def _refuses(statement: ast.stmt) -> bool:
    """Whether a function does not go on with scaling: `assert not half`, `if half: return`."""
    match statement:
        case ast.Assert(test=test):
            return _denies(test, holds=True)
        case ast.If(test=test, body=[*_, ast.Raise() | ast.Return()]):
            return _denies(test, holds=False)
    return False


def _denies(test: ast.expr, *, holds: bool) -> bool:
    return any(_SWITCH.search(text) and not true for text, true in literals(test, holds))


RULE = Rule("CL718", check, hints=("LossScaleOptimizer", _REWRITE))
