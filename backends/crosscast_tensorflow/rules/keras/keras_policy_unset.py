"""CL722: a policy is created, but never set."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.readers.python.library_calls import text_value
from crosscast_reading.readers.python.module_words import words_of
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import program_of
from crosscast_tensorflow.reading.keras import policy_calls

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call

_SETS = re.compile(
    r"set_\w{0,60}(policy|floatx)|dtype_policy|policy_scope|_(set|with|use)_policy", re.I
)


def check(subject: Subject) -> Iterator[Finding]:
    """Find policies that go nowhere, in programs that set none."""
    program = program_of(subject)
    if program is None:
        return
    unused = [call for call in policy_calls(program) if _is_half(call) and _is_unused(call)]
    if not unused:
        return
    if any(_SETS.search(word) for module in program.modules for word in words_of(module)):
        return
    for call in unused:
        yield Finding(
            span=call.module.span(call.node),
            message="this policy is created but never set: layers compute in float32",
            hint="pass it to tf.keras.mixed_precision.set_global_policy before the model is built",
        )


def _is_half(call: Call) -> bool:
    return text_value(call.argument("name")).startswith("mixed_")


def _is_unused(call: Call) -> bool:
    """Whether nothing reads what a call returns."""
    module = call.module
    match module.parent(call.node):
        case ast.Expr():
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            around: ast.AST = module.function_of(call.node) or module.tree
            return not any(
                isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
                for node in walk(around)
            )
    return False


_RIGHT = """\
import tensorflow as tf

policy = tf.keras.mixed_precision.Policy("mixed_float16")
tf.keras.mixed_precision.set_global_policy(policy)
model = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(2, dtype="float32")])
model.compile(tf.keras.optimizers.Adam(1e-3), "mse")
model.fit(dataset, epochs=3)
"""

RULE = Rule(
    code="CL722",
    name="keras-policy-unset",
    topic="keras",
    severity=Severity.WARNING,
    title="A policy that is never set",
    why="A `Policy` is only a description. Layers look at the global policy, or at the one that "
    "they get as `dtype`; an object that nothing uses changes nothing, and the model trains in "
    "float32. A `LossScaleOptimizer` beside it still multiplies the loss, for no purpose.",
    wrong=changed(_RIGHT, ("tf.keras.mixed_precision.set_global_policy(policy)\n", "")),
    right=_RIGHT,
    check=check,
    hints=("Policy(",),
    sources=("Keras documentation, tf.keras.mixed_precision.Policy",),
)
