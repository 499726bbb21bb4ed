"""CL717: float16 in TensorFlow without a policy and without a loss scale."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Severity, Span
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
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


_RIGHT = """\
import tensorflow as tf


def storage_in_float32(getter, name, shape=None, dtype=None, trainable=True, **kwargs):
    stored = tf.float32 if trainable else dtype
    variable = getter(name, shape, dtype=stored, trainable=trainable, **kwargs)
    return tf.cast(variable, dtype) if trainable and dtype != tf.float32 else variable


def model_fn(features, labels, mode):
    with tf.variable_scope("net", custom_getter=storage_in_float32):
        logits = tf.layers.dense(tf.cast(features, tf.float16), 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.cast(logits, tf.float32))
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    loss_scale = 128.0
    pairs = optimizer.compute_gradients(loss * loss_scale)
    pairs = [(gradient / loss_scale, variable) for gradient, variable in pairs]
    train_op = optimizer.apply_gradients(pairs, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
"""

RULE = Rule(
    code="CL717",
    name="tf-half-not-scaled",
    topic="loss scaling",
    severity=Severity.WARNING,
    title="float16 in TensorFlow without a loss scale",
    why="float16 has no numbers between 0 and 6e-8. A getter that stores variables in float32 "
    "keeps small updates, but the gradients are computed in float16: without a loss scale, many "
    "of them are 0. `set_floatx('float16')` stores the weights in float16, too, and `compile` "
    "adds a loss scale only for the policy `mixed_float16`.",
    wrong=changed(
        _RIGHT,
        ("    loss_scale = 128.0\n", ""),
        ("loss * loss_scale", "loss"),
        ("    pairs = [(gradient / loss_scale, variable) for gradient, variable in pairs]\n", ""),
    ),
    right=_RIGHT,
    check=check,
    hints=("custom_getter", "float16", "is_finite", "is_inf", "is_nan"),
    sources=("NVIDIA, Training With Mixed Precision, TensorFlow example",),
)
