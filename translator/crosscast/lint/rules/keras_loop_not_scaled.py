"""CL708: a loop of one's own under mixed_float16 whose loss nobody scales."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.diagnostics import Severity
from crosscast.lint.rule import Finding, Rule
from crosscast.lint.rules._examples import changed
from crosscast.lint.rules._keras import LOOP, half_policies, program_of, scales
from crosscast.lint.subject import Subject
from crosscast.pysource.nodes import walk
from crosscast.readers.python.calls import calls_of, canonical


def check(subject: Subject) -> Iterator[Finding]:
    """Find loops that apply the gradients of a tape while mixed_float16 is certainly set."""
    program = program_of(subject)
    if program is None:
        return
    policies = half_policies(program)
    if not policies or scales(program):
        return
    for name, call in calls_of(program):
        if call.method not in ("apply_gradients", "apply") or call.receiver is None:
            continue
        module = call.module
        function: ast.AST = module.function_of(call.node) or module.tree
        taped = any(
            isinstance(one, ast.Call) and canonical(module.call(one).name).endswith("GradientTape")
            for one in walk(function)
        )
        compiled = "self.optimizer" in name or module.text(call.receiver) == "self.optimizer"
        if not taped or compiled:
            continue  # `compile` wraps the optimizer of a model
        one = policies[0]
        yield Finding(
            span=module.span(call.node),
            message="the policy mixed_float16 is set and the loss is not scaled: small gradients "
            "become zero",
            hint="wrap the optimizer in LossScaleOptimizer and scale the loss with it; only "
            "`compile` does that by itself",
            related=(one.module.span(one.node),),
        )


RULE = Rule(
    code="CL708",
    name="keras-loop-not-scaled",
    topic="keras",
    severity=Severity.WARNING,
    title="A training loop under mixed_float16 without loss scaling",
    why="`model.compile` wraps the optimizer in a LossScaleOptimizer under `mixed_float16`; a loop "
    "of one's own is never wrapped. Gradients below 6e-8 are then zero.",
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
