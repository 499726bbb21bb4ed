"""CL703: Keras accumulation under tf.distribute."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import accumulating, strategies


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


RULE = Rule("CL703", check, hints=("gradient_accumulation_steps",))
