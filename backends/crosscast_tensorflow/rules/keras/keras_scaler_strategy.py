"""CL704: the LossScaleOptimizer of Keras 3 under tf.distribute."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.compiled_models import compiled
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import half_policies, is_keras_3, strategies
from crosscast_tensorflow.reading.keras import scaler_calls


def check(subject: Subject) -> Iterator[Finding]:
    """Find wrapped optimizers in programs for Keras 3 with a strategy."""
    program = subject.program
    if not is_keras_3(program):
        return
    made = strategies(program)
    for call in _scaling(program) if made else ():
        yield Finding(
            span=call.module.span(call.node),
            message="an overflow on a single replica corrupts the weights (MirroredStrategy) or "
            "blocks all workers forever (MultiWorkerMirroredStrategy)",
            hint="use bfloat16, tf_keras (TF_USE_LEGACY_KERAS=1), or reduce the scaled gradients "
            "yourself before `apply`",
            related=(made[0].module.span(made[0].node),),
        )


def _scaling(program: Program) -> Iterator[Call]:
    """Yield the calls that wrap an optimizer: by the program, or by `compile` under a policy."""
    wrapped = [call for name, call in scaler_calls(program) if ".experimental." not in name]
    yield from wrapped
    if not wrapped and half_policies(program):
        for call in compiled(program):
            scales = call.argument("auto_scale_loss")
            if not isinstance(scales, Known) or scales.value is not False:
                yield call


RULE = Rule("CL704", check, hints=("LossScaleOptimizer", "mixed_float16"))
