"""CL703: Keras accumulation under tf.distribute."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import FIT, accumulating, strategies


def check(subject: Subject) -> Iterator[Finding]:
    """Find optimizers that accumulate in programs with a strategy."""
    program = subject.program
    made = strategies(program) if _in_graphs(program) else []
    for call in accumulating(program) if made else ():
        node = call.bound()["gradient_accumulation_steps"]
        place = call.module.owner_of(node)
        yield Finding(
            span=place.span(node),
            message="gradient_accumulation_steps raises RuntimeError under a strategy of "
            "tf.distribute, in fit and within tf.function",
            hint="accumulate the gradients in a custom training step",
            related=(made[0].module.span(made[0].node),),
        )


def _in_graphs(program: Program) -> bool:
    """Whether steps run as graphs, in `fit` or `tf.function`; eager execution works."""
    names = {call.method for _, call in calls_of(program)}
    return bool(names & {"fit", "train_on_batch"}) or any(
        "tf.function" in module.code for module in program.modules
    )


_DISTRIBUTED = """\
import keras
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(64), keras.layers.Dense(2)])
    model.compile(keras.optimizers.AdamW(1e-3, gradient_accumulation_steps=4), loss="mse")
model.fit(inputs, targets, batch_size=8)
"""

RULE = Rule(
    code="CL703",
    name="keras-accumulation-strategy",
    topic="keras",
    severity=Severity.ERROR,
    title="Keras accumulation under tf.distribute",
    why="`gradient_accumulation_steps` puts the update into a conditional, in which "
    "MirroredStrategy and MultiWorkerMirroredStrategy cannot reduce gradients. They raise "
    "RuntimeError, `merge_call called while defining a new graph`. Measured with Keras "
    "3.15.1.",
    wrong=_DISTRIBUTED,
    right=changed(FIT, ("AdamW(1e-3)", "AdamW(1e-3, gradient_accumulation_steps=4)")),
    check=check,
    hints=("gradient_accumulation_steps",),
    sources=("Keras 3.15.1 on TensorFlow 2.21, run with both strategies",),
)
