"""CL206: float16 without any loss scale."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.autocast import always_on, dtype_of, is_on
from crosscast_reading.lint.answers.loop import (
    backward_of,
    eager_steps,
    trained_passes,
    uses_scaler,
)
from crosscast_reading.lint.answers.scalers import idle_scalers
from crosscast_reading.lint.answers.type_switches import type_switches
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.loss_scaling._half_weights import casts_of, conditional, halves
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.emitted.script import scales_nothing
from crosscast_reading.sources.connected import modules_of
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event, Guard, TrainingStep


def check(subject: Subject) -> Iterator[Finding]:
    """Find forward passes in float16 in a program without any scaler, or with an unused one.

    An emitted script has none because of its recipe, for which `crosscast check` warns.
    """
    program = subject.program
    if scales_nothing(program.modules):
        return
    if uses_scaler(program.modules) and not idle_scalers(subject):
        yield from _switched_off(subject)
        yield from _on_one_branch(subject)
    is_scaled: dict[frozenset[Module], bool] = {}
    for step in eager_steps(subject):
        near = modules_of(step)
        if near not in is_scaled:
            is_scaled[near] = uses_scaler(near) and not idle_scalers(subject, near)
        if is_scaled[near]:
            continue
        backward = step.of("backward")
        if any(event.scaler or event.library or _multiplies(event) for event in backward):
            continue
        cause = _half(step) or _half_weights(step) or _initialized(step)
        if cause is not None and step.of("step"):
            span = step.module.owner_of(cause).span(cause)
            yield Finding(
                span=span,
                message="the forward pass runs in float16, but the loss is not scaled",
                hint="use a GradScaler, or bfloat16, which does not need one",
                related=(backward[0].span,),
            )


def _multiplies(event: Event) -> bool:
    """Whether a backward pass is of a product, `(loss * factor).backward()`: a scale by hand."""
    match event.node:
        case ast.Call(func=ast.Attribute(value=ast.BinOp(op=ast.Mult()))):
            return True
    return False


def _switched_off(subject: Subject) -> Iterator[Finding]:
    """Find scalers that are off with some types, where autocast asks for none of them."""
    for switch in type_switches(subject):
        module = switch.scaler.module
        chosen, values = module.text(switch.chosen), ", ".join(map(str, switch.values))
        yield Finding(
            span=switch.step.module.owner_of(switch.context).span(switch.context),
            message=f"the forward pass runs in float16 whatever {chosen} is, but the loss is "
            f"scaled only with {values}",
            hint=f"give autocast the type of {chosen}, or disable both",
            related=(module.span(switch.scaler.node),),
        )


def _on_one_branch(subject: Subject) -> Iterator[Finding]:
    """Find losses that are scaled under a condition, where autocast knows nothing of it."""
    for step in eager_steps(subject):
        backward = backward_of(step)
        for plain in backward:
            scaled = [each for each in backward if each.scaler and each.excludes(plain)]
            if plain.scaler or plain.library or not scaled or any(map(_may_be_off, plain.guards)):
                continue
            for event in trained_passes(step):
                context = event.context("autocast")
                both = event.order < min(plain.order, scaled[0].order)
                if not both or context is None:
                    continue
                if event.guards or not always_on(context) or _half(step) is not context.node:
                    continue
                text, holds = plain.guards[-1].text, plain.guards[-1].holds
                yield Finding(
                    span=plain.span,
                    message="the forward pass runs in float16, but the loss is not scaled "
                    + (f"if {text}" if holds else f"unless {text}"),
                    hint="scale it here, too, or give autocast the same switch as `enabled`",
                    related=(step.module.owner_of(context.node).span(context.node),),
                )
                return


def _may_be_off(guard: Guard) -> bool:
    """Whether a condition is about the device or the scaler, so that autocast may know it."""
    return bool(_DEVICE.search(guard.text))


def _half_weights(step: TrainingStep) -> ast.AST | None:
    """Return the cast of a trained model's weights, if nothing like a loss scale is named."""
    models = {event.subject for event in trained_passes(step)}
    models &= {
        call.receiver_text
        for module in {event.module for event in step.events}
        for call in module.calls
        if call.method in ("parameters", "named_parameters")
    }
    for module in {event.module for event in step.events}:
        if _OWN_SCALE.search(module.source.text):
            return None
        for call in casts_of(module):
            if halves(call, module, models) and _trains_so(call, module, step):
                return call.node
    return None


def _trains_so(call: Call, module: Module, step: TrainingStep) -> bool:
    """Whether the loop certainly trains the cast model, maybe under a flag for half precision."""
    around = module.enclosing(call.node, ast.If)
    if isinstance(around, ast.If) and _PRECISION.search(module.text(around.test)):
        loop = step.loop.node if step.loop is not None else step.events[0].node
        inside = any(call.node in walk(statement) for statement in around.body)
        same = module.function_of(call.node) is module.function_of(loop)
        return inside and same and not any(c.method == "float" for c in module.calls)
    return not conditional(call, module, step)


_OWN_SCALE = re.compile(
    r"loss_?scal|scaler|master_?(param|weight|cop)|fp16_?optim|\bpeft\b|lora", re.I
)
"""Words of scaling by other means, and of trained weights that stay float32 beside the others."""
_DEVICE = re.compile(r"cuda|cpu|gpu|device|scaler|bf16|bfloat16", re.I)
_PRECISION = re.compile(r"fp16|half|float16|(^|[._])amp\b", re.I)


def _initialized(step: TrainingStep) -> ast.AST | None:
    """Return `amp.initialize(...)` of apex in a program that never scales a loss."""
    program = step.module.program
    if any("scale" in c.method for c in program.calls() if "loss" in c.method):
        return None
    for call in program.calls("apex.amp.initialize"):
        match call.argument("enabled"), call.argument("opt_level"):
            case Known(value=False), _:
                continue
            case _, Known(value="O1" | "O2" | "O3"):
                return call.node
    return None


def _half(step: TrainingStep) -> ast.AST | None:
    """Return the autocast to float16 around the forward pass."""
    for event in trained_passes(step):
        context = event.context("autocast")
        if context is None or context.guards or not is_on(context):
            continue
        if dtype_of(context, module=step.module.owner_of(context.node)) == "float16":
            return context.node
    return None


RULE = Rule("CL206", check, hints=("autocast", "auto_cast", "half", "float16", "apex"))
