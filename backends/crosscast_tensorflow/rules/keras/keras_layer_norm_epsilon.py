"""CL706: LayerNormalization of Keras with its default epsilon in a BERT."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.readers.python.library_calls import calls_of
from crosscast_reading.sources.subject import Subject

_BERT = re.compile(r"(?<![a-z])(ro|al|distil)?berta?(?![a-z])|^ernie|electra", re.I)


def check(subject: Subject) -> Iterator[Finding]:
    """Find LayerNormalization without epsilon in files with names of BERT."""
    program = subject.program
    seen: set[str] = set()
    for name, call in calls_of(program):
        if name != "keras.layers.LayerNormalization" or call.has_star:
            continue
        module = call.module
        if "epsilon" in call.bound() or module.source.name in seen or not _is_bert(module):
            continue
        seen.add(module.source.name)
        yield Finding(
            span=module.span(call.node),
            message="LayerNormalization has epsilon 1e-3 by default; BERT was trained with 1e-12",
            hint="write LayerNormalization(epsilon=1e-12)",
        )


def _is_bert(module: Module) -> bool:
    names = [*module.classes, *module.functions]
    return any(_BERT.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)) for name in names)


_EXAMPLE = """\
import keras


def bert_output(hidden, rate):
    hidden = keras.layers.Dense(768)(hidden)
    hidden = keras.layers.Dropout(rate)(hidden)
    return keras.layers.LayerNormalization(epsilon=1e-12)(hidden)


model = keras.Model(inputs, bert_output(inputs, 0.1))
model.compile(keras.optimizers.AdamW(1e-5), loss="mse")
model.fit(rows, targets)
"""

RULE = Rule(
    code="CL706",
    name="layer-norm-epsilon",
    topic="keras",
    severity=Severity.NOTE,
    title="LayerNormalization without epsilon in a BERT",
    why="The default is 1e-3 in Keras and 1e-5 in PyTorch and Paddle, but BERT's weights were "
    "trained with 1e-12. At the scale of BERT's embeddings, the default of Keras changes the "
    "outputs by 54 %.",
    wrong=changed(_EXAMPLE, ("epsilon=1e-12", "")),
    right=_EXAMPLE,
    check=check,
    hints=("LayerNormalization",),
    sources=("Keras 3.15.1, keras.layers.LayerNormalization",),
    needs_training=False,
)
