"""CL708: a loop of one's own under mixed_float16 whose loss nobody scales."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import changed
from crosscast.lint.rules._keras import (
    LOOP,
    half_policies,
    possible_half_policies,
    program_of,
    scales,
)
from crosscast.messages.diagnostics import Severity
from crosscast.pysource.syntax.nodes import walk
from crosscast.readers.python.library_calls import calls_of, canonical
from crosscast.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call

_OF_GRAPHS = re.compile(
    r"tensorflow\.(compat\.v1\.)?train\.\w+Optimizer\.(minimize|apply_gradients)"
)
"""Optimizers of TensorFlow 1, which no policy of Keras wraps."""


def check(subject: Subject) -> Iterator[Finding]:
    """Find loops that apply gradients themselves while mixed_float16 is set, or may be."""
    program = program_of(subject)
    if program is None:
        return
    certain = half_policies(program)
    policies = certain or possible_half_policies(program)
    if not policies or scales(program):
        return
    seen: set[ast.AST] = set()
    for name, call in calls_of(program):
        if call.node in seen or call.receiver is None:
            continue
        if not (_OF_GRAPHS.fullmatch(name) or (certain and _is_own_loop(name, call))):
            continue
        seen.add(call.node)
        one = policies[0]
        is_set = "is set" if certain else "can be chosen"
        yield Finding(
            span=call.module.span(call.node),
            message=f"the policy mixed_float16 {is_set} and the loss is not scaled: small "
            "gradients become zero",
            hint="wrap the optimizer in LossScaleOptimizer and scale the loss with it; only "
            "`compile` does that by itself",
            related=(one.module.span(one.node),),
        )


def _is_own_loop(name: str, call: Call) -> bool:
    """Whether a call applies the gradients of a tape with an optimizer that nobody wraps."""
    if call.method not in ("apply_gradients", "apply") or call.receiver is None:
        return False
    module = call.module
    function: ast.AST = module.function_of(call.node) or module.tree
    taped = any(
        isinstance(one, ast.Call) and canonical(module.call(one).name).endswith("GradientTape")
        for one in walk(function)
    )
    compiled = "self.optimizer" in name or module.text(call.receiver) == "self.optimizer"
    return taped and not compiled  # `compile` wraps the optimizer of a model


RULE = Rule(
    code="CL708",
    name="keras-loop-not-scaled",
    topic="keras",
    severity=Severity.WARNING,
    title="A training loop under mixed_float16 without loss scaling",
    why="`model.compile` wraps the optimizer in a LossScaleOptimizer under `mixed_float16`; a loop "
    "of one's own and the optimizers of `tf.compat.v1.train` are never wrapped. Small gradients "
    "become 0 then. In Keras 3 it is enough to take the gradients of "
    "`optimizer.scale_loss(loss)`: `apply_gradients` divides. Keras 2 needs `get_scaled_loss` and "
    "`get_unscaled_gradients`.",
    wrong=changed(
        LOOP,
        (
            "tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(1e-3))",
            "tf.keras.optimizers.Adam(1e-3)",
        ),
        ("        scaled = optimizer.get_scaled_loss(loss)\n", ""),
        ("tape.gradient(scaled", "tape.gradient(loss"),
        ("    gradients = optimizer.get_unscaled_gradients(gradients)\n", ""),
    ),
    right=LOOP,
    check=check,
    hints=("mixed_float16",),
    sources=("Keras 3.15.1 and tf_keras 2.21: what `compile` wraps",),
)
