"""CL714: the graph rewrite together with a Keras policy."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.readers.python.conditions import branches
from crosscast_reading.readers.python.library_calls import calls_of, last
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import half_policies


def check(subject: Subject) -> Iterator[Finding]:
    """Find both in one function or one module, under the same conditions."""
    program = subject.program
    policies = half_policies(program)
    for name, call in calls_of(program):
        if last(name) != "enable_mixed_precision_graph_rewrite":
            continue
        mine = {branch.text for branch in branches(call.node, call.module)}
        for policy in policies:
            same = (
                policy.module is call.module
                and {c.text for c in branches(policy.node, policy.module)} == mine
            )
            if same:
                yield Finding(
                    span=call.module.span(call.node),
                    message="the graph rewrite and a Keras policy for float16 exclude each other: "
                    "TensorFlow raises ValueError",
                    hint="remove the rewrite: with the policy, compile scales the loss",
                    related=(policy.module.span(policy.node),),
                )
                break


_BOTH = """\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(64), tf.keras.layers.Dense(2, dtype="float32")]
)
optimizer = tf.compat.v1.train.AdamOptimizer(1e-3)
optimizer = tf.compat.v1.mixed_precision.enable_mixed_precision_graph_rewrite(optimizer)
model.compile(optimizer, loss="mse")
model.fit(inputs, targets)
"""

_REWRITE = (
    "optimizer = tf.compat.v1.mixed_precision.enable_mixed_precision_graph_rewrite(optimizer)\n"
)

RULE = Rule(
    code="CL714",
    name="tf-rewrite-and-policy",
    topic="keras",
    severity=Severity.ERROR,
    title="The graph rewrite together with a Keras policy",
    why="Both apply casts and loss scaling. TensorFlow does not allow a mixed policy after "
    "`enable_mixed_precision_graph_rewrite`, nor the rewrite after the policy.",
    wrong=_BOTH,
    right=changed(
        _BOTH,
        ("optimizer = tf.compat.v1.train.AdamOptimizer", "optimizer = tf.keras.optimizers.Adam"),
        (_REWRITE, ""),
    ),
    check=check,
    hints=("enable_mixed_precision_graph_rewrite",),
    sources=("TensorFlow 2.21, tf.compat.v1.mixed_precision",),
)
