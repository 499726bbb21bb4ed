"""CL711: the policy is set after layers are created."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.reading.keras import policy_sites
from crosscast_tensorflow.reading.late_policies import late_policies

_SAYS = {
    "layers": "the layers were created: they remain",
    "model": "the model was created: its layers remain",
    "compiled model": "the model was built and compiled: its layers remain",
}


def check(subject: Subject) -> Iterator[Finding]:
    """Find policies that are set when the layers of a model exist."""
    program = subject.program
    for late in late_policies(program, list(policy_sites(program))):
        yield Finding(
            span=late.policy.span,
            message=f"the policy is set after {_SAYS[late.exists]} in float32",
            hint="set the policy before the model is built",
            related=(late.place,),
        )


_EXAMPLE = """\
import keras

keras.mixed_precision.set_global_policy("mixed_float16")
model = keras.Sequential([keras.layers.Dense(64), keras.layers.Dense(2, dtype="float32")])
model.compile(keras.optimizers.AdamW(1e-3), loss="mse")
model.fit(inputs, targets, batch_size=8)
"""
_SET = 'keras.mixed_precision.set_global_policy("mixed_float16")\n'

RULE = Rule(
    code="CL711",
    name="keras-policy-late",
    topic="keras",
    severity=Severity.WARNING,
    title="The policy is set after the model was built",
    why="A layer takes the global policy when it is created. Setting the policy later does not "
    "affect existing layers: training runs in float32.",
    wrong=changed(_EXAMPLE, (_SET, ""), ("model.compile", f"{_SET}model.compile")),
    right=_EXAMPLE,
    check=check,
    hints=("mixed_float16",),
    sources=("Keras documentation, Mixed precision",),
)
