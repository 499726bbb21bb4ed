"""CL715: the softmax at the end of a model in float16."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.readers.python.library_calls import calls_of, text_value
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import framework_code, half_policies

_LAYER = re.compile(r"keras\.layers\.(Dense|Activation|Softmax)")


def check(subject: Subject) -> Iterator[Finding]:
    """Find softmax layers under mixed_float16 in files without float32 layers."""
    program = subject.program
    policies = half_policies(program)
    if not policies or any("float32" in code for code in framework_code(program)):
        return
    for name, call in calls_of(program):
        typed = "dtype" in call.bound() or call.has_star
        if _LAYER.fullmatch(name) and not typed and _is_softmax(name, call):
            policy = policies[0]
            yield Finding(
                span=call.module.span(call.node),
                message="the softmax is computed in float16: probabilities below 6e-8 become zero "
                "and large logits lose precision",
                hint='set dtype="float32" for the last layer',
                related=(policy.module.span(policy.node),),
            )
            return


def _is_softmax(name: str, call: Call) -> bool:
    if name.endswith("Softmax"):
        return True
    given = call.argument("activation")
    if given is None and call.node.args:
        place = 0 if name.endswith("Activation") else 1
        if len(call.node.args) > place:
            from crosscast_reading.readers.python.library_calls import value_of

            given = value_of(call.node.args[place], call.module)
    return text_value(given) == "softmax"


_EXAMPLE = """\
import keras

keras.mixed_precision.set_global_policy("mixed_float16")
model = keras.Sequential(
    [keras.layers.Dense(64), keras.layers.Dense(10, activation="softmax", dtype="float32")]
)
model.compile(keras.optimizers.AdamW(1e-3), loss="sparse_categorical_crossentropy")
model.fit(inputs, targets, batch_size=8)
"""

RULE = Rule(
    code="CL715",
    name="keras-half-output",
    topic="keras",
    severity=Severity.NOTE,
    title="Final softmax in float16",
    why="Under `mixed_float16` every layer computes in float16, including the final softmax. "
    "Losses cast their inputs to float32, but this does not restore the precision lost in "
    "the softmax.",
    wrong=changed(_EXAMPLE, (', dtype="float32"', "")),
    right=_EXAMPLE,
    check=check,
    hints=("mixed_float16",),
    sources=("Keras documentation, Mixed precision",),
)
