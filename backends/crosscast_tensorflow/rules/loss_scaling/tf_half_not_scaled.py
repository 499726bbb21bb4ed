"""CL717: float16 in TensorFlow without a policy and without a loss scale."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Span
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.syntax.nodes import identifier, keyword
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import framework_code, scales
from crosscast_tensorflow.reading.keras import policy_sites
from crosscast_tensorflow.reading.tested_halves import tested_halves

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_UPDATES = frozenset({"minimize", "compute_gradients", "apply_gradients", "fit", "fit_generator"})
_HALF = re.compile(r"float16|\bhalf\b")
_CASTS = re.compile(r"float32_variable_storage|fp16|fp32|half|mixed_?prec", re.I)
_OTHER = re.compile(r"graph_rewrite|auto_mixed_precision|bfloat16", re.I)


def check(subject: Subject) -> Iterator[Finding]:
    """Find programs that train with variables or layers in float16 and scale nothing."""
    program = subject.program
    if any(map(_OTHER.search, framework_code(program))):
        return
    span = next(_halves(program), None) or next(_tests(program), None)
    update = next((c for _, c in calls_of(program) if c.method in _UPDATES and c.receiver), None)
    if update is None:
        return
    if span is not None and not scales(program):
        yield Finding(
            span=span,
            message="the forward and backward pass run in float16, but the loss is not scaled: "
            "small gradients become zero",
            hint="multiply the loss by a constant such as 128 (or a dynamic loss scale), and "
            "divide the gradients by it in float32",
            related=(update.module.span(update.node),),
        )


def _halves(program: Program) -> Iterator[Span]:
    """Yield where layers get float16: by `set_floatx`, by a getter that casts variables."""
    for site in policy_sites(program):
        full = site.mode == "full" and site.dtypes == ("float16",) and site.possible
        if full and not site.decision.under and not site.around:
            yield site.span
    for _name, call in calls_of(program):
        getter = keyword(call.node, "custom_getter")
        if getter is not None and _casts_to_half(getter, call, program):
            yield call.module.span(getter)


def _tests(program: Program) -> Iterator[Span]:
    """Yield where a switch for float16 makes a program test its gradients for infinities."""
    for call in tested_halves(program):
        yield call.module.span(call.node)


def _casts_to_half(getter: ast.expr, call: Call, program: Program) -> bool:
    """Whether a variable getter returns float16 copies, in a program that asks for float16."""
    if not any(_HALF.search(m.code) for m in program.modules):
        return False
    definition = program.function_named(call.module.resolve(getter))
    if definition is None:
        return bool(_CASTS.search(identifier(getter)))
    text = definition[0].text(definition[1])
    return "cast(" in text and "float32" in text and "trainable" in text


RULE = Rule("CL717", check, hints=("custom_getter", "float16", "is_finite", "is_inf", "is_nan"))
