"""CL710: a policy for single layers, with which compile does not wrap the optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.readers.python.compiled_models import compiled
from crosscast_reading.readers.python.library_calls import last
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import half_policies, scales
from crosscast_tensorflow.reading.keras import policy_sites


def check(subject: Subject) -> Iterator[Finding]:
    """Find layers in mixed_float16 without a policy of the model."""
    program = subject.program
    if half_policies(program) or scales(program):
        return
    made = list(compiled(program))
    sites = [site for site in policy_sites(program) if site.dtypes == ("float16",)]
    for site in sites[:1] if made else ():
        call = site.module.call(site.node)  # type: ignore[arg-type]
        if last(call.name) in ("Sequential", "Model"):
            return
        yield Finding(
            span=site.module.span(site.node),
            message="compile does not scale the loss: it checks the policy of the model, not of "
            "its layers",
            hint='call keras.mixed_precision.set_global_policy("mixed_float16"), or wrap the '
            "optimizer in LossScaleOptimizer",
            related=(made[0].module.span(made[0].node),),
        )


_LAYERS = """\
import keras

model = keras.Sequential(
    [
        keras.layers.Dense(64, dtype="mixed_float16"),
        keras.layers.Dense(2, dtype="float32"),
    ]
)
model.compile(keras.optimizers.AdamW(1e-3), loss="mse")
model.fit(inputs, targets, batch_size=8)
"""

RULE = Rule(
    code="CL710",
    name="keras-layer-policy",
    topic="keras",
    severity=Severity.WARNING,
    title="mixed_float16 only for layers: the loss is not scaled",
    why="`compile` wraps the optimizer in a LossScaleOptimizer if the policy of the model is "
    "`mixed_float16`. With `dtype='mixed_float16'` only on layers, the policy of the model "
    "remains float32 and the optimizer is not wrapped. Measured with Keras 3.15.1.",
    wrong=_LAYERS,
    right="""\
import keras

keras.mixed_precision.set_global_policy("mixed_float16")
model = keras.Sequential([keras.layers.Dense(64), keras.layers.Dense(2, dtype="float32")])
model.compile(keras.optimizers.AdamW(1e-3), loss="mse")
model.fit(inputs, targets, batch_size=8)
""",
    check=check,
    hints=("mixed_float16",),
    sources=("Keras 3.15.1, keras/src/trainers/trainer.py: what `compile` wraps",),
)
