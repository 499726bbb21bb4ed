"""CL805: custom fp16 code with a loss scale of 1."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.evaluation.choices import certain_truth
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.values.value import Unknown
from crosscast_reading.readers.python.library_calls import calls_of, last, matching, plain, value_of
from crosscast_reading.sources.subject import Subject

_DECORATE = re.compile(r"paddle\.(fluid\.contrib\.mixed_precision|static\.amp)\.decorate")
_DYNAMIC = "use_dynamic_loss_scaling"


def check(subject: Subject) -> Iterator[Finding]:
    """Find calls that certainly enable fp16 and scale the loss by 1."""
    program = subject.program
    yield from _decorated(program)
    for _name, call in calls_of(program):
        words: dict[str, ast.expr] = {k.arg: k.value for k in call.node.keywords if k.arg}
        switch = words.get("use_fp16")
        fixed = words.get("loss_scaling") or words.get("init_loss_scaling")
        if switch is None or fixed is None or certain_truth(switch, call.module) is not True:
            continue
        if call.has_star:
            continue
        dynamic = words.get("use_dynamic_loss_scaling")
        if dynamic is not None and plain(value_of(dynamic, call.module)) is not False:
            continue
        if plain(value_of(fixed, call.module)) in (1, 1.0):
            yield Finding(
                span=call.module.span(fixed),
                message="use_fp16 is enabled, but the loss scale is 1.0: the loss is not scaled",
                hint="pass a loss scale such as 128, or use dynamic loss scaling",
                related=(call.module.span(switch),),
            )


def _decorated(program: Program) -> Iterator[Finding]:
    """Find optimizers of static programs whose scale is fixed at 1 if no setting is given."""
    for name, call in matching(program, _DECORATE):
        bound = call.bound()
        scale, dynamic = (bound.get(word) for word in ("init_loss_scaling", _DYNAMIC))
        if scale is None or dynamic is None or {*bound} & {"use_bf16", "dtype"}:
            continue
        values = [_usual(node, call.module) for node in (scale, dynamic)]
        if values[0] in (1, 1.0) and values[0] is not True and values[1] is False:
            yield Finding(
                span=call.module.span(scale),
                message=f"{last(name)} with the values that hold if no others are set, a scale of "
                "1 that stays fixed, trains in float16 without scaling the loss",
                hint=f"let the scale start at 32768 and {_DYNAMIC} be True where nothing is set",
                related=(call.module.span(dynamic),),
            )


def _usual(node: ast.expr, module: Module) -> object:
    """Return a value that is written, or the one that a setting has if it is left out."""
    value = value_of(node, module)
    if isinstance(value, Unknown) and value.has_default:
        return value.default
    return plain(value)


RULE = Rule("CL805", check, hints=("use_fp16", "decorate"), needs_training=False)
