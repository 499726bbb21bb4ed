"""CL716: graphs are rewritten to float16 by an option, which scales no loss."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
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


RULE = Rule("CL716", check, hints=("auto_mixed_precision",))
