"""CL707: keras.ops.gelu, which defaults to the approximation."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    """Find calls without the argument that selects the formula."""
    program = subject.program
    for name, call in calls_of(program):
        if name in ("keras.ops.gelu", "keras.ops.nn.gelu") and not call.has_star:
            given = {keyword.arg for keyword in call.node.keywords}
            if "approximate" not in given and len(call.node.args) == 1:
                yield Finding(
                    span=call.module.span(call.node),
                    message="keras.ops.gelu uses the tanh approximation by default; "
                    "keras.activations.gelu, PyTorch and Paddle use the error function",
                    hint="pass approximate=True or approximate=False",
                )


_EXAMPLE = """\
import keras


class Block(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(64)

    def call(self, inputs):
        return keras.ops.gelu(self.dense(inputs), approximate=False)


model = keras.Sequential([Block(), keras.layers.Dense(2)])
model.compile(keras.optimizers.AdamW(1e-5), loss="mse")
model.fit(rows, targets)
"""

RULE = Rule(
    code="CL707",
    name="gelu-approximation",
    topic="keras",
    severity=Severity.NOTE,
    title="keras.ops.gelu without approximate",
    why="`keras.ops.gelu` defaults to the tanh approximation; `keras.activations.gelu`, "
    "`Activation('gelu')`, PyTorch and Paddle use the error function. A ported model, or one "
    "that loads weights from another framework, computes slightly different values.",
    wrong=changed(_EXAMPLE, (", approximate=False", "")),
    right=_EXAMPLE,
    check=check,
    hints=("ops.gelu",),
    sources=("Keras 3.15.1, keras.ops.gelu and keras.activations.gelu",),
    needs_training=False,
)
