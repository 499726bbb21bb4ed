"""CL716: graphs are rewritten to float16 by an option, which scales no loss."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import scales
from crosscast_tensorflow.reading.rewrite import VARIABLE, float16_options

_TRAINS = frozenset({"minimize", "apply_gradients", "apply", "fit", "fit_generator"})


def check(subject: Subject) -> Iterator[Finding]:
    """Find the option in programs that train and say nothing of a loss scale."""
    program = subject.program
    if scales(program) or not _trains(program):
        return
    if any(VARIABLE.search(module.code) for module in program.modules):
        return  # the variable also scales, in builds that read it
    for cast in float16_options(program):
        yield Finding(
            span=cast.module.span(cast.node),
            message="graphs run in float16, but the loss is not scaled: small gradients become "
            "zero",
            hint="use tf.compat.v1.mixed_precision.enable_mixed_precision_graph_rewrite or the "
            "policy mixed_float16, which add a loss scale",
        )


def _trains(program: Program) -> bool:
    return any(call.method in _TRAINS for _, call in calls_of(program))


_RIGHT = """\
import tensorflow as tf

optimizer = tf.compat.v1.train.AdamOptimizer(1e-3)
optimizer = tf.compat.v1.mixed_precision.enable_mixed_precision_graph_rewrite(optimizer)
train = optimizer.minimize(loss)
with tf.compat.v1.Session() as session:
    session.run(train)
"""

RULE = Rule(
    code="CL716",
    name="tf-option-not-scaled",
    topic="keras",
    severity=Severity.WARNING,
    title="The option auto_mixed_precision without a loss scale",
    why="`set_experimental_options` and the RewriterConfig of a session only rewrite graphs to "
    "float16. Unlike the function `enable_mixed_precision_graph_rewrite` and the policies of "
    "Keras, they leave the optimizer as it is, so that small gradients become 0.",
    wrong=changed(
        _RIGHT,
        (
            "optimizer = tf.compat.v1.mixed_precision.enable_mixed_precision_graph_rewrite("
            "optimizer)\n",
            'tf.config.optimizer.set_experimental_options({"auto_mixed_precision": True})\n',
        ),
    ),
    right=_RIGHT,
    check=check,
    hints=("auto_mixed_precision",),
    sources=("TensorFlow 2.21, rewriter_config.proto: the comment on auto_mixed_precision",),
)
